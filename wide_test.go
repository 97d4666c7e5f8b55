package postbus_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
)

// tally counts how often each subject was handled.
type tally struct {
	mu    sync.Mutex
	times map[string]int
}

func (y *tally) add(subject string) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.times == nil {
		y.times = map[string]int{}
	}
	y.times[subject]++
	return y.times[subject]
}

func (y *tally) of(subject string) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.times[subject]
}

// total answers how many subjects were handled, and how many of them more than once.
func (y *tally) total() (subjects, again int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, n := range y.times {
		if n > 1 {
			again++
		}
	}
	return len(y.times), again
}

// wide is a subscription named wide with jobs of up to 200 events.
func wide(handle func(ctx context.Context, e events.Event) error) events.Subscription {
	s := to("wide", handle)
	s.Batch = 200
	return s
}

// startWide starts a bus once n events of one pass are recorded.
func startWide(t *testing.T, n int, sub events.Subscription) (*pgxpool.Pool, *postbus.Bus) {
	t.Helper()
	pool := testdb.New(t)
	bus, err := postbus.New(pool, quick(postbus.Config{Subscriptions: []events.Subscription{sub}}))
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	recordAll(t, pool, bus.Recorder(), n, numbered("note-"))
	if err := bus.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bus.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return pool, bus
}

// jobOf answers the job that the subject's event has, and its state.
func jobOf(t *testing.T, bus *postbus.Bus, subject string) jobs.Job {
	t.Helper()
	e, err := bus.Events().LatestFor(t.Context(), "owner", subject)
	if err != nil {
		t.Fatal(err)
	}
	job, err := bus.Inspector().Get(t.Context(), e.Fanout["wide"])
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// A backlog whose events make few jobs is claimed in larger passes, but never in larger ones than the application asked for.
func TestPassesGrowWhereEventsMakeFewJobs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		size, batch int
		least, most int
	}{
		{"wide", 0, 1000, 201, 1000},
		{"wide, sized", 100, 1000, 2, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pool := testdb.New(t)
			sub := to("wide", func(context.Context, events.Event) error { return nil })
			sub.Batch = c.batch
			bus, err := postbus.New(pool, postbus.Config{App: "app", Log: testdb.Log(), Types: []events.Type{noteChanged}, BatchSize: c.size, Subscriptions: []events.Subscription{sub}})
			if err != nil {
				t.Fatal(err)
			}
			if err := bus.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			recordAll(t, pool, bus.Recorder(), 3000, numbered("note-"))
			if err := bus.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = bus.Stop(context.Background()) })
			eventually(t, time.Minute, pool, 0, `select count(*) from postbus.events where fanned_out_at is null`)
			largest := one[int](t, pool, `select max(n) from (select count(*) as n from postbus.events group by fanout ->> 'wide') as j`)
			if largest < c.least || largest > c.most {
				t.Errorf("the largest job has %d events, want %d to %d", largest, c.least, c.most)
			}
		})
	}
}

// Promise: the events of a pass make one wide job, each is handled, and each event's fan-out names that job. A single event gets the
// job that it gets without Batch.
func TestWideJobCoversAPass(t *testing.T) {
	t.Parallel()
	var seen tally
	pool, bus := startWide(t, 200, wide(func(_ context.Context, e events.Event) error {
		seen.add(e.Subject)
		return nil
	}))
	eventually(t, 20*time.Second, pool, "1 completed", `select count(*) || ' ' || min(state::text) from postbus.river_job where kind = 'wide'`)
	if subjects, again := seen.total(); subjects != 200 || again != 0 {
		t.Errorf("%d events handled, %d of them again", subjects, again)
	}
	if named := one[int64](t, pool, `select count(distinct fanout ->> 'wide') from postbus.events`); named != 1 {
		t.Errorf("the fan-outs name %d jobs", named)
	}
	recordAll(t, pool, bus.Recorder(), 1, numbered("single-"))
	eventually(t, 20*time.Second, pool, int64(1), `select count(*) from postbus.river_job as j inner join postbus.events as e
		on e.id = (j.args ->> 'event_id')::uuid and e.fanout ->> 'wide' = j.id::text
		where j.state = 'completed' and j.args = jsonb_build_object('event_id', e.id, 'subscription', 'wide')`)
	if n := seen.of("single-0"); n != 1 {
		t.Errorf("the single event was handled %d times", n)
	}
}

// Promise: of a wide job's events the one that fails, the one that is snoozed, the one that is discarded, the one that is slow and the
// one that panics go on as jobs of their own, with the attempt spent and the error kept; the others are done, once.
func TestWideJobLetsGoOfWhatFails(t *testing.T) {
	t.Parallel()
	var seen tally
	first := func(subject string) bool { return seen.add(subject) == 1 }
	sub := wide(func(ctx context.Context, e events.Event) error {
		again := !first(e.Subject)
		switch {
		case e.Subject == "note-13":
			return jobs.Discard(errors.New("hopeless"))
		case again:
			return nil
		case e.Subject == "note-7":
			return errors.New("first try fails")
		case e.Subject == "note-77":
			return jobs.Snooze(300 * time.Millisecond)
		case e.Subject == "note-99":
			<-ctx.Done()
			return ctx.Err()
		case e.Subject == "note-123":
			panic("at the disco")
		}
		return nil
	})
	sub.Timeout = 500 * time.Millisecond
	sub.Backoff = func(int) time.Duration { return 100 * time.Millisecond }
	pool, bus := startWide(t, 200, sub)
	eventually(t, 30*time.Second, pool, "completed 5, discarded 1", `select string_agg(state || ' ' || n, ', ' order by state)
		from (select state::text, count(*) as n from postbus.river_job where kind = 'wide' group by state) as s`)
	if subjects, again := seen.total(); subjects != 200 || again != 4 {
		t.Errorf("%d events handled, %d of them again; want 200 and 4", subjects, again)
	}
	for subject, want := range map[string]string{
		"note-7": "completed 2 0 first try fails", "note-77": "completed 1 1", "note-99": "completed 2 0 timed out after 500ms: context deadline exceeded",
		"note-123": "completed 2 0 panic: at the disco", "note-13": "discarded 1 0 hopeless", "note-8": "completed 1 0",
	} {
		job := jobOf(t, bus, subject)
		got := fmt.Sprintf("%s %d %d", job.State, job.Attempt, job.Snoozes)
		for _, e := range job.Errors {
			got += " " + e.Error
		}
		if got != want {
			t.Errorf("the job of %s: %s, want %s", subject, got, want)
		}
		if subject == "note-123" && job.Errors[0].Stack == "" {
			t.Error("the panic has no stack")
		}
	}
	alerts, err := bus.Alerts(t.Context())
	if err != nil || len(alerts) != 1 {
		t.Errorf("alerts: %+v, %v; want one of the discarded event", alerts, err)
	}
}

// Promise: two runs of one wide job at once, as after a rescue that was too early, give an event that fails one job of its own and not two.
func TestWideJobThatRunsTwiceMovesAnEventOnce(t *testing.T) {
	t.Parallel()
	var seen tally
	both := make(chan struct{})
	sub := wide(func(_ context.Context, e events.Event) error {
		times := seen.add(e.Subject)
		switch {
		case e.Subject != "note-5" || times > 2:
			return nil
		case times == 2:
			close(both)
		}
		<-both
		return errors.New("not yet")
	})
	sub.Backoff = func(int) time.Duration { return 100 * time.Millisecond }
	pool, bus := startWide(t, 10, sub)
	wait.Eventually(t, 20*time.Second, func() (bool, string) { return seen.of("note-5") == 1, "nobody handles note-5" })
	if _, err := pool.Exec(t.Context(), `update postbus.river_job set state = 'available' where kind = 'wide' and state = 'running'`); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, pool, int64(2), `select count(*) from postbus.river_job where kind = 'wide' and state = 'completed'`)
	wait.Eventually(t, 10*time.Second, func() (bool, string) { return seen.of("note-5") == 3, "note-5 is not handled alone" })
	if n := one[int64](t, pool, `select count(*) from postbus.river_job where kind = 'wide'`); n != 2 {
		t.Errorf("%d jobs: the event that failed in both runs has more than one of its own", n)
	}
	if job := jobOf(t, bus, "note-5"); len(job.Errors) != 1 {
		t.Errorf("its job: %+v", job)
	}
}

// Promise: a wide job hands what it does not come to within its time to another one, so that it never holds a worker for all of a slow batch.
func TestWideJobLeavesTheRestToAnother(t *testing.T) {
	t.Parallel()
	var seen tally
	pool, _ := startWide(t, 24, wide(func(ctx context.Context, e events.Event) error {
		seen.add(e.Subject)
		select {
		case <-time.After(600 * time.Millisecond):
		case <-ctx.Done():
		}
		return ctx.Err()
	}))
	eventually(t, 60*time.Second, pool, "2 true", `select count(*) || ' ' || bool_and(state = 'completed')
		from postbus.river_job where kind = 'wide' having count(*) > 1`)
	if subjects, again := seen.total(); subjects != 24 || again != 0 {
		t.Errorf("%d events handled, %d of them again", subjects, again)
	}
	if named := one[int64](t, pool, `select count(distinct fanout ->> 'wide') from postbus.events`); named != 2 {
		t.Errorf("the fan-outs name %d jobs, want 2", named)
	}
}

// A receipt of an event that left its wide job tells of the job that it has now, not of the wide one, which ended well.
func TestReceiptFollowsAnEventOutOfItsWideJob(t *testing.T) {
	t.Parallel()
	var seen tally
	sub := wide(func(_ context.Context, e events.Event) error {
		if e.Subject == "note-3" && seen.add(e.Subject) == 1 {
			return errors.New("not yet")
		}
		return nil
	})
	sub.Backoff = func(int) time.Duration { return 2 * time.Second }
	_, bus := startWide(t, 10, sub)
	e, err := bus.Events().LatestFor(t.Context(), "owner", "note-3")
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := bus.Receipt(t.Context(), e.ID, 30*time.Second, "wide")
	if job, _ := receipt.Of("wide"); err != nil || job.State != jobs.Completed || seen.of("note-3") != 2 {
		t.Errorf("%+v, %v after %d tries: the receipt must wait for the second", receipt, err, seen.of("note-3"))
	}
}
