package postbus_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/pg"
)

// gate is a replay target whose second batch waits to be let through, or fails.
type gate struct {
	entered chan struct{}
	open    chan error
	batches int
	seen    map[string]int
}

func newGate() *gate {
	return &gate{entered: make(chan struct{}, 10), open: make(chan error), seen: map[string]int{}}
}

func (*gate) Kind() events.ReplayKind                                { return events.ReplayEndpoint }
func (*gate) JobKind() string                                        { return "gate.replay" }
func (*gate) Check(context.Context, pgx.Tx, events.ReplaySpec) error { return nil }

func (g *gate) Batch(ctx context.Context, _ pgx.Tx, _ events.Replay, batch []events.Event) (int, int, error) {
	if g.batches++; g.batches == 2 {
		g.entered <- struct{}{}
		select {
		case err := <-g.open:
			if err != nil {
				return 0, 0, err
			}
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		}
	}
	for _, e := range batch {
		g.seen[e.ID]++
	}
	return len(batch), 2 * len(batch), nil
}

// gated starts a bus by its parts, with the gate as a replay target, and a replay of 1,200 events that waits in its second batch.
func gated(t *testing.T, g *gate) (*pgxpool.Pool, *events.Bus, *river.Runtime, events.Replay) {
	t.Helper()
	pool := testdb.New(t)
	bus, err := events.New(pool, events.Config{App: "app", Types: []events.Type{noteChanged}, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	bus.AddReplayTarget(g)
	runtime, err := river.New(pool, river.Config{
		App: "app", Kinds: bus.Kinds(), Queues: map[string]int{jobs.MaintenanceQueue: 1}, Log: quiet(), FetchPoll: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	bus.Bind(runtime)
	if err := errors.Join(bus.Declare(t.Context()), runtime.Start(t.Context()), bus.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		bus.Stop()
		_ = runtime.Stop(context.Background())
	})
	recordAll(t, pool, bus.Recorder(), 1200, numbered("note-"))
	eventually(t, 20*time.Second, pool, int64(0), unfannedSQL)
	var r events.Replay
	err = pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		r, err = bus.StartReplay(ctx, tx, events.ReplaySpec{Target: events.ReplayEndpoint, Name: "e"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	<-g.entered
	return pool, bus, runtime, r
}

func replayIs(t *testing.T, bus *events.Bus, id string, want events.ReplayState) events.Replay {
	t.Helper()
	var r events.Replay
	wait.Eventually(t, 30*time.Second, func() (bool, string) {
		var err error
		r, err = bus.Replay(t.Context(), id)
		return err == nil && r.State == want, fmt.Sprintf("the replay is %s: %s (%v)", r.State, r.Error, err)
	})
	return r
}

// A cancelled replay ends with the batch that it has in hand; what it has handed over stays.
func TestReplayIsCancelled(t *testing.T) {
	t.Parallel()
	g := newGate()
	pool, bus, runtime, r := gated(t, g)
	cancelled := make(chan error, 1)
	go func() {
		cancelled <- pg.InTx(context.Background(), pool, func(ctx context.Context, tx pgx.Tx) error {
			_, err := bus.CancelReplay(ctx, tx, r.ID)
			return err
		})
	}()
	eventually(t, 10*time.Second, pool, true, heldBatch, "set state = 'cancelled'")
	g.open <- nil
	if err := <-cancelled; err != nil {
		t.Fatal(err)
	}
	if state, ended := runtime.Wait(t.Context(), r.JobID, 20*time.Second); !ended || state != jobs.Completed {
		t.Errorf("the job of a cancelled replay is %q", state)
	}
	r = replayIs(t, bus, r.ID, events.ReplayCancelled)
	if r.Matched != 1000 || r.Queued != 2000 || r.FinishedAt == nil {
		t.Errorf("the cancelled replay is %+v, want 1000 matched and 2000 queued", r)
	}
}

// Promise: what cannot be mended ends a replay as failed, with its text and an alert; retried by hand it goes on where it was.
func TestFailedReplayIsNotSilentAndGoesOnWhenRetried(t *testing.T) {
	t.Parallel()
	g := newGate()
	_, bus, runtime, r := gated(t, g)
	g.open <- jobs.Discard(errors.New("the endpoint is gone"))
	if r = replayIs(t, bus, r.ID, events.ReplayFailed); r.Error != "replay "+r.ID+": the endpoint is gone" || r.Matched != 500 {
		t.Errorf("the failed replay is %+v", r)
	}
	if state, _ := runtime.Wait(t.Context(), r.JobID, 20*time.Second); state != jobs.Discarded {
		t.Errorf("its job is %q, want discarded: the alert stands", state)
	}
	if _, err := runtime.Inspector().Retry(t.Context(), r.JobID); err != nil {
		t.Fatal(err)
	}
	if r = replayIs(t, bus, r.ID, events.ReplayDone); r.Matched != 1200 || r.Error != "" {
		t.Errorf("the replay retried is %+v", r)
	}
	onceEach(t, g)
}

// A setback that the replay is not to blame for is told and tried again.
func TestReplayOutlivesASetback(t *testing.T) {
	t.Parallel()
	g := newGate()
	pool, bus, _, r := gated(t, g)
	g.open <- errors.New("no room")
	wait.Eventually(t, 20*time.Second, func() (bool, string) {
		r, err := bus.Replay(t.Context(), r.ID)
		return err == nil && r.State == events.ReplayRunning && r.Error != "", fmt.Sprintf("%+v, %v", r, err)
	})
	mustExec(t, pool, `update postbus.river_job set scheduled_at = now(), state = 'available' where kind = 'gate.replay' and state in ('retryable', 'available')`)
	replayIs(t, bus, r.ID, events.ReplayDone)
	onceEach(t, g)
}

func onceEach(t *testing.T, g *gate) {
	t.Helper()
	for id, times := range g.seen {
		if times != 1 {
			t.Errorf("event %s came %d times", id, times)
		}
	}
	if len(g.seen) != 1200 {
		t.Errorf("%d events came, want 1200", len(g.seen))
	}
}

// Promise: retention never takes an event that has an unfinished job, one that a replay made among them.
func TestRetentionKeepsWhatAReplayedJobNeeds(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	hold := make(chan struct{})
	old := history(t, pool, 2)
	bus := startBus(t, pool, postbus.Config{App: "app", Types: []events.Type{}, Retention: time.Hour, Subscriptions: []events.Subscription{
		to("added", func(ctx context.Context, e events.Event) error {
			select {
			case <-hold:
			case <-ctx.Done():
			}
			return nil
		}),
	}})
	spec := toSub("added")
	r := startReplay(t, pool, bus, spec)
	replayEnds(t, bus, r.ID, events.ReplayDone)
	recordAll(t, pool, old.Recorder(), 1, numbered("new-"))
	mustExec(t, pool, `update postbus.events set fanned_out_at = fanned_out_at - interval '1 day' where subject like 'old-%'`)
	mustExec(t, pool, `update postbus.replays set finished_at = finished_at - interval '31 days'`)
	retention(t, bus, jobs.Completed)
	if left := one[string](t, pool, leftSQL); left != "new-0 old-0 old-1" {
		t.Errorf("left are %q, want all: their jobs are unfinished", left)
	}
	if _, err := bus.Events().Replay(t.Context(), r.ID); !errors.Is(err, events.ErrReplayNotFound) {
		t.Errorf("a replay that ended 31 days ago: %v, want ErrReplayNotFound", err)
	}
	close(hold)
	eventually(t, 20*time.Second, pool, int64(3), endedOf, "added")
	retention(t, bus, jobs.Completed)
	if left := one[string](t, pool, leftSQL); left != "new-0" {
		t.Errorf("left are %q, want new-0", left)
	}
	if n := one[int64](t, pool, `select count(*) from postbus.replayed`); n != 0 {
		t.Errorf("%d jobs are noted for events that are gone", n)
	}
}

// A list of replays has every one once, newest first, whatever the page.
func TestReplaysArePaged(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{to("added", ignore)}})
	var want, got []string
	for range 5 {
		want = append([]string{startReplay(t, pool, bus, toSub("added")).ID}, want...)
	}
	f := events.ReplayFilter{Target: events.ReplaySubscription, Name: "added", Limit: 2}
	for pages := 1; ; pages++ {
		page, err := bus.Events().Replays(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Replays {
			got = append(got, r.ID)
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			if pages != 3 {
				t.Errorf("%d pages of 2 for 5 replays", pages)
			}
			break
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("replays %v, want %v", got, want)
	}
	for _, f := range []events.ReplayFilter{{State: "odd"}, {Cursor: "odd"}, {Limit: 201}} {
		if _, err := bus.Events().Replays(t.Context(), f); !errors.Is(err, events.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", f, err)
		}
	}
}

// Promise: two runs of one replay's job (one given up for dead, and the next) do not double a batch.
func TestTwoRunsOfAReplayDoubleNothing(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	history(t, pool, 5000)
	cfg := withSub(to("added", ignore))
	cfg.Queues = map[string]int{jobs.MaintenanceQueue: 4}
	bus := startBus(t, pool, cfg)
	var r events.Replay
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		if r, err = bus.Events().StartReplay(ctx, tx, toSub("added")); err != nil {
			return err
		}
		for range 3 {
			if _, err := bus.Jobs().With(tx).Enqueue(ctx, "events.replay", map[string]string{"replay_id": r.ID}, jobs.EnqueueOpts{}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r = replayEnds(t, bus, r.ID, events.ReplayDone)
	eventually(t, 20*time.Second, pool, int64(4), endedOf, "events.replay")
	all, distinct := one[int64](t, pool, jobsOf, "added"), one[int64](t, pool, eventsOf, "added")
	if all != 5000 || distinct != 5000 || r.Queued != 5000 {
		t.Errorf("%d jobs for %d events, %d queued; want 5000 of each", all, distinct, r.Queued)
	}
}
