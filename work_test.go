package postbus_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
	"github.com/postbus/postbus/work"
)

func claimOf(kinds ...string) jobs.Claim { return jobs.Claim{Kinds: kinds, Worker: "ann"} }

// A claim that waits is woken by an event that is recorded, gets the event with its data as recorded, and its end is seen by
// whoever waits for the job.
func TestWorkOfASubscriptionIsClaimed(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{
		{Name: "render", Types: []string{"note.*"}, External: true}, to("index", ignore),
	}})
	type answer struct {
		items []work.Item
		err   error
		after time.Duration
	}
	claimed := make(chan answer, 1)
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		began := time.Now()
		items, err := bus.Work().Claim(t.Context(), claimOf("render"), work.MaxWait)
		claimed <- answer{items, err, time.Since(began)}
	})
	eventually(t, within, pool, 1, `select count(*) from postbus.workers where name = 'ann'`) // it waits
	recordAll(t, pool, bus.Recorder(), 1, numbered("note-"))
	got := <-claimed
	if got.err != nil || len(got.items) != 1 {
		t.Fatalf("claimed %+v, %v", got.items, got.err)
	}
	item := got.items[0]
	if item.Event == nil || item.Event.Subject != "note-0" || string(item.Event.Data) != `{"n":0}` || item.Event.OwnerID != "owner" {
		t.Errorf("the job's event is %+v", item.Event)
	}
	if err := bus.Work().Complete(t.Context(), item.Lease, json.RawMessage(`{"pages":3}`)); err != nil {
		t.Fatal(err)
	}
	if state, final := bus.Wait(t.Context(), item.Job, within); state != jobs.Completed || !final {
		t.Errorf("the job is %s", state)
	}
}

// What others hold is not waited for for ever: a lease that ends gives the job to a claim that waits.
func TestWorkIsTakenOverWhenALeaseEnds(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{Kinds: []jobs.Kind{{Name: "render", External: true}}})
	if _, err := bus.Jobs().Enqueue(t.Context(), "render", struct{}{}, jobs.EnqueueOpts{}); err != nil {
		t.Fatal(err)
	}
	short := claimOf("render")
	short.Lease = time.Second
	first, err := bus.Work().Claim(t.Context(), short, work.MaxWait)
	if err != nil || len(first) != 1 {
		t.Fatalf("claimed %v, %v", first, err)
	}
	second, err := bus.Work().Claim(t.Context(), claimOf("render"), work.MaxWait)
	if err != nil || len(second) != 1 || second[0].Attempt != 2 {
		t.Fatalf("claimed %+v, %v", second, err)
	}
	if err := bus.Work().Complete(t.Context(), first[0].Lease, nil); !errors.Is(err, jobs.ErrLeaseLost) {
		t.Errorf("who lost the lease completes: %v", err)
	}
}

// A declaration without an application is fanned out to without a restart, and no more once it is retired.
func TestWorkIsDeclaredByHand(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{})
	declared := work.Declaration{Name: "render", Types: []string{"note.*"}, MaxAttempts: 3, Waits: []time.Duration{time.Second, time.Minute}}
	for range 2 {
		if err := bus.Work().Declare(t.Context(), declared); err != nil {
			t.Fatal(err)
		}
	}
	kinds, err := bus.Work().Kinds(t.Context(), "", 10)
	if err != nil || len(kinds) != 1 || kinds[0].App != "" || !slices.Equal(kinds[0].Types, declared.Types) || !slices.Equal(kinds[0].Waits, declared.Waits) {
		t.Fatalf("kinds %+v, %v", kinds, err)
	}
	recordAll(t, pool, bus.Recorder(), 3, numbered("note-"))
	claim := claimOf("render")
	claim.Most = 10
	var got []work.Item
	for len(got) < 3 {
		items, err := bus.Work().Claim(t.Context(), claim, work.MaxWait)
		if err != nil || len(items) == 0 {
			t.Fatalf("claimed %v, %v", items, err)
		}
		got = append(got, items...)
	}
	if err := bus.Work().Retire(t.Context(), "render"); err != nil {
		t.Fatal(err)
	}
	if _, err := bus.Work().Claim(t.Context(), claim, 0); !errors.Is(err, jobs.ErrInvalid) {
		t.Errorf("a claim of a retired kind answered %v", err)
	}
	recordAll(t, pool, bus.Recorder(), 1, numbered("late-"))
	settle(t, pool)
	if n := one[int](t, pool, `select count(*) from postbus.river_job where kind = 'render'`); n != 3 {
		t.Errorf("%d jobs, want the 3 from before it was retired", n)
	}
	bus2, err := postbus.New(pool, quick(postbus.Config{App: "other", Types: []events.Type{}, Kinds: []jobs.Kind{{Name: "render", External: true}}}))
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Work().Declare(t.Context(), declared); err != nil {
		t.Fatal(err)
	}
	if err := bus2.Start(t.Context()); !errors.Is(err, jobs.ErrInvalid) {
		t.Errorf("an application takes a kind that was declared by hand: %v", err)
	}
}

// postbus.enqueue makes a job, of a Go kind too, if and only if the transaction commits.
func TestEnqueueThroughTheOutbox(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	ran := make(chan string, 10)
	bus := startBus(t, pool, postbus.Config{
		Kinds: []jobs.Kind{{Name: "greet", Handle: func(_ context.Context, args json.RawMessage) error {
			ran <- string(args)
			return nil
		}}},
		Subscriptions: []events.Subscription{{Name: "all", Types: []string{"*"}, Handle: func(_ context.Context, e events.Event) error {
			if e.Type == events.Enqueue {
				t.Errorf("a subscription was told of %s", e.Type)
			}
			return nil
		}}},
	})
	undo := errors.New("undo")
	var id string
	for _, end := range []error{undo, nil} {
		err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) (err error) {
			if id, err = bus.Work().With(tx).Enqueue(ctx, "greet", json.RawMessage(`{"n": 9007199254740993}`), time.Time{}, "ann"); err != nil {
				return err
			}
			return end
		})
		if !errors.Is(err, end) {
			t.Fatal(err)
		}
	}
	if args := <-ran; args != `{"n": 9007199254740993}` {
		t.Errorf("the handler got %s", args)
	}
	fanout, fanned, err := bus.Events().AwaitFanout(t.Context(), id, within)
	if err != nil || !fanned || len(fanout) != 1 {
		t.Fatalf("fan-out %v, %v, %v", fanout, fanned, err)
	}
	job, err := bus.Inspector().Get(t.Context(), fanout[events.Enqueue])
	if err != nil || job.Owner != "ann" || job.Kind != "greet" {
		t.Errorf("job %+v, %v", job, err)
	}
	settle(t, pool)
	if n := one[int](t, pool, `select count(*) from postbus.river_job where kind = 'greet'`); n != 1 {
		t.Errorf("%d jobs of what was enqueued once and rolled back once", n)
	}
	if _, err := bus.Work().Enqueue(t.Context(), "nobody", nil, time.Time{}, "ann"); !errors.Is(err, jobs.ErrInvalid) {
		t.Errorf("a kind that nobody declared was answered with %v", err)
	}
}

// At most 64 claims wait in a process; one more is answered at once.
func TestClaimsThatWaitAreCapped(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{Kinds: []jobs.Kind{{Name: "render", External: true}}})
	const claims, wait = 80, 4 * time.Second
	var atOnce, waited int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range claims {
		all.Go(func() {
			began := time.Now()
			if items, err := bus.Work().Claim(t.Context(), claimOf("render"), wait); len(items) > 0 || err != nil {
				t.Errorf("claimed %v, %v", items, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if time.Since(began) < wait {
				atOnce++
			} else {
				waited++
			}
		})
	}
	all.Wait()
	if waited != 64 || atOnce != claims-64 {
		t.Errorf("%d waited and %d were answered at once, want 64 and %d", waited, atOnce, claims-64)
	}
}
