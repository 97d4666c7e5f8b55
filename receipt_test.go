package postbus_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
)

// recordedID records one event and answers its id.
func recordedID(t *testing.T, pool *pgxpool.Pool, bus *postbus.Bus, subject string) string {
	t.Helper()
	recordAll(t, pool, bus.Recorder(), 1, func(int) string { return subject })
	e, err := bus.Events().LatestFor(t.Context(), "owner", subject)
	if err != nil {
		t.Fatal(err)
	}
	return e.ID
}

// A receipt claims a job's end only when it is committed: while the handler runs it is 202, afterwards 200.
func TestReceiptClaimsWhatIsCommitted(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	begun, finish := make(chan struct{}), make(chan struct{})
	held := to("held", func(ctx context.Context, _ events.Event) error {
		close(begun)
		select {
		case <-finish:
		case <-ctx.Done():
		}
		return ctx.Err()
	})
	refusing := to("refusing", func(context.Context, events.Event) error { return jobs.Discard(errors.New("no use")) })
	bus := startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{held, refusing}})
	id := recordedID(t, pool, bus, "note")
	<-begun
	early, err := bus.Receipt(t.Context(), id, 20*time.Millisecond, "held")
	if err != nil || early.Final || early.Status != events.Fanned {
		t.Fatalf("%+v, %v: the handler has not ended", early, err)
	}
	if job, _ := early.Of("held"); job.State != jobs.Running || job.Final {
		t.Errorf("%+v, the job is running", job)
	}
	answer := httptest.NewRecorder()
	if err := early.WriteHTTP(answer, "/receipts/"+id); err != nil || answer.Code != 202 || answer.Header().Get("Location") != "/receipts/"+id {
		t.Errorf("%d %v, %v", answer.Code, answer.Header(), err)
	}
	close(finish)
	late, err := bus.Receipt(t.Context(), id, 20*time.Second, "held", "refusing")
	if err != nil || !late.Final {
		t.Fatalf("%+v, %v", late, err)
	}
	var states []jobs.State
	for _, j := range late.Jobs {
		states = append(states, j.State)
	}
	if diff := cmp.Diff([]jobs.State{jobs.Completed, jobs.Discarded}, states); diff != "" {
		t.Error(diff)
	}
	answer = httptest.NewRecorder()
	held0, _ := late.Of("held")
	if err := held0.WriteHTTP(answer, "x"); err != nil || answer.Code != 200 || answer.Header().Get("Location") != "" {
		t.Errorf("%d %v, %v", answer.Code, answer.Header(), err)
	}
	want := `{"subscription":"held","job_id":"` + string(held0.JobID) + `","state":"completed","final":true}` + "\n"
	if diff := cmp.Diff(want, answer.Body.String()); diff != "" {
		t.Error(diff)
	}
}

// A subscription that was not told is not taken for done, and neither is an event that is not there.
func TestReceiptRefusesWhatNeverComes(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{to("index", ignore)}})
	id := recordedID(t, pool, bus, "note")
	if _, err := bus.Receipt(t.Context(), id, 20*time.Second, "indx"); !errors.Is(err, events.ErrInvalid) {
		t.Errorf("err = %v for a subscription that is not there", err)
	}
	if _, err := bus.Receipt(t.Context(), "00000000-0000-0000-0000-000000000000", time.Second); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("err = %v for an event that is not there", err)
	}
	if job, err := bus.JobReceipt(t.Context(), "999999999", 0); err != nil || job.State != postbus.Pruned || !job.Final {
		t.Errorf("%+v, %v for a job that is gone", job, err)
	}
}

// 64 callers wait in a process; the 65th gets its receipt at once, and one may wait again when another has left.
func TestReceiptsAreCapped(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus, err := postbus.New(pool, quick(postbus.Config{})) // never started: nothing is fanned out
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Declare(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := recordedID(t, pool, bus, "note")
	waiting, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for waiting.Err() == nil { // again where the look below had the last place
				_, _ = bus.Receipt(waiting, id, time.Hour)
			}
		})
	}
	const most = 200 * time.Millisecond
	atOnce := func() bool {
		begun := time.Now()
		receipt, err := bus.Receipt(t.Context(), id, most)
		if err != nil || receipt.Final || receipt.Status != events.Pending {
			t.Fatalf("%+v, %v", receipt, err)
		}
		return time.Since(begun) < most // whoever waits, waits for all of it
	}
	wait.Eventually(t, 20*time.Second, func() (bool, string) { return atOnce(), "the 65th waits" })
	leave()
	all.Wait()
	if atOnce() {
		t.Error("nobody waits any more, and yet a receipt came at once")
	}
}
