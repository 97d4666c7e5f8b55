package postbus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/pg"
)

func startReplay(t *testing.T, pool *pgxpool.Pool, bus *postbus.Bus, spec events.ReplaySpec) events.Replay {
	t.Helper()
	var r events.Replay
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		r, err = bus.Events().StartReplay(ctx, tx, spec)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func toSub(name string) events.ReplaySpec {
	return events.ReplaySpec{Target: events.ReplaySubscription, Name: name}
}

// replayEnds waits for the state and answers the replay.
func replayEnds(t *testing.T, bus *postbus.Bus, id string, want events.ReplayState) events.Replay {
	t.Helper()
	var r events.Replay
	wait.Eventually(t, 30*time.Second, func() (bool, string) {
		var err error
		r, err = bus.Events().Replay(t.Context(), id)
		return err == nil && r.State == want, "the replay is " + string(r.State) + " " + r.Error
	})
	return r
}

// history starts a bus and records n events that it fans out.
func history(t *testing.T, pool *pgxpool.Pool, n int) *postbus.Bus {
	t.Helper()
	bus := startBus(t, pool, postbus.Config{App: "old"})
	for done := 0; done < n; done += 500 {
		recordAll(t, pool, bus.Recorder(), min(500, n-done), func(i int) string { return fmt.Sprint("old-", done+i) })
	}
	eventually(t, 30*time.Second, pool, int64(0), unfannedSQL)
	return bus
}

func withSub(s events.Subscription) postbus.Config {
	return postbus.Config{App: "new", Types: []events.Type{}, Subscriptions: []events.Subscription{s}}
}

const (
	jobsOf    = `select count(*) from postbus.river_job where kind = $1`
	eventsOf  = `select count(distinct args->>'event_id') from postbus.river_job where kind = $1`
	endedOf   = `select count(*) from postbus.river_job where kind = $1 and state = 'completed'`
	heldBatch = `select count(*) > 0 from pg_stat_activity where wait_event_type = 'Lock' and query ilike '%' || $1 || '%' and datname = current_database()`
)

// Promise: a replay hands a new subscription exactly the history, each event once, while live events reach it as ever.
func TestReplayGivesANewSubscriptionTheHistoryOnce(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	old := history(t, pool, 1200)
	h := &handledSet{}
	bus := startBus(t, pool, withSub(to("added", h.handle)))
	recordAll(t, pool, old.Recorder(), 50, numbered("live-before-"))
	eventually(t, 20*time.Second, pool, int64(50), jobsOf, "added")

	spec := toSub("added")
	spec.Options = []byte(`{"missed_only": true}`)
	r := startReplay(t, pool, bus, spec)
	recordAll(t, pool, old.Recorder(), 50, numbered("live-after-"))
	r = replayEnds(t, bus, r.ID, events.ReplayDone)
	if r.Matched != 1200 || r.Queued != 1200 || r.Progress != 1 || r.FinishedAt == nil || r.JobID == "" {
		t.Errorf("the replay says %+v, want 1200 matched and queued", r)
	}
	eventually(t, 30*time.Second, pool, int64(1300), endedOf, "added")
	if all, distinct := one[int64](t, pool, jobsOf, "added"), one[int64](t, pool, eventsOf, "added"); all != 1300 || distinct != 1300 {
		t.Errorf("%d jobs for %d events, want 1300 for 1300", all, distinct)
	}
	if h.count() != 1300 {
		t.Errorf("%d events handled, want 1300", h.count())
	}
}

// A replay to a subscription that had its jobs makes the handler run again; live events after it come once.
func TestReplayRunsHandlersAgain(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	var runs atomic.Int64
	bus := startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{to("index", func(context.Context, events.Event) error {
		runs.Add(1)
		return nil
	})}})
	recordAll(t, pool, bus.Recorder(), 20, numbered("note-"))
	eventually(t, 20*time.Second, pool, int64(20), endedOf, "index")
	r := startReplay(t, pool, bus, toSub("index"))
	recordAll(t, pool, bus.Recorder(), 5, numbered("after-"))
	replayEnds(t, bus, r.ID, events.ReplayDone)
	eventually(t, 20*time.Second, pool, int64(45), endedOf, "index")
	if n := runs.Load(); n != 45 {
		t.Errorf("%d runs, want 20 + 5 live and 20 again", n)
	}
}

// Promise: a replay that is killed between or within batches goes on where it was: no event is doubled, none is left out.
func TestReplayKilledInMidWayGoesOn(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	if err := history(t, pool, 2600).Stop(t.Context()); err != nil { // it would walk the replay, too
		t.Fatal(err)
	}
	cfg := withSub(to("added", ignore))
	cfg.StopGrace = time.Millisecond
	first := startStoppable(t, pool, cfg)
	// The third batch is frozen in its transaction by a lock that its job 1,200 needs, and the process goes.
	mustExec(t, pool, `create table gate (); create function gate() returns trigger language plpgsql as $$ begin
		if (select count(*) from postbus.replayed) >= 1000 then lock table gate in row share mode; end if; return new; end $$;
		create trigger gate before insert on postbus.replayed for each statement execute function gate()`)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), `lock table gate in access exclusive mode`); err != nil {
		t.Fatal(err)
	}
	r := startReplay(t, pool, first, toSub("added"))
	eventually(t, 20*time.Second, pool, true, heldBatch, "insert into postbus.replayed")
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := first.Events().Replay(t.Context(), r.ID); err != nil || r.State != events.ReplayRunning || r.Queued != 1000 || r.Progress == 0 {
		t.Errorf("in mid-way the replay is %+v (%v), want 1000 queued and running", r, err)
	}
	second := startBus(t, pool, withSub(to("added", ignore)))
	r = replayEnds(t, second, r.ID, events.ReplayDone)
	all, distinct := one[int64](t, pool, jobsOf, "added"), one[int64](t, pool, eventsOf, "added")
	if all != 2600 || distinct != 2600 || r.Queued != 2600 {
		t.Errorf("%d jobs for %d events, %d queued; want 2600 of each", all, distinct, r.Queued)
	}
}

// Promise: an event that a relay has in hand while the subscription is declared, and marks without it, is history: the replay
// waits for that pass and hands the event over.
func TestReplayWaitsForPassesThatDoNotKnowTheSubscription(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	old := startBus(t, pool, postbus.Config{App: "old", Subscriptions: []events.Subscription{to("other", ignore)}})
	bus, err := postbus.New(pool, quick(withSub(to("added", ignore))))
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, pool, `create table gate (); create function gate() returns trigger language plpgsql as $$ begin
		if exists (select from postbus.subscriptions where name = 'added') then return new; end if;
		lock table gate in row share mode; return new; end $$;
		create trigger gate before insert on postbus.river_job for each row when (new.kind = 'other') execute function gate()`)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), `lock table gate in access exclusive mode`); err != nil {
		t.Fatal(err)
	}
	recordAll(t, pool, old.Recorder(), 1, numbered("in-hand-"))
	eventually(t, 10*time.Second, pool, true, heldBatch, "insert into postbus.river_job")
	if err := bus.Start(t.Context()); err != nil { // declares
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Stop(context.Background()) })
	r := startReplay(t, pool, bus, toSub("added"))
	eventually(t, 10*time.Second, pool, true, `select state = 'running' from postbus.river_job where kind = 'events.replay'`)
	recordAll(t, pool, old.Recorder(), 3, numbered("live-")) // another pass meanwhile
	eventually(t, 10*time.Second, pool, int64(3), jobsOf, "added")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	r = replayEnds(t, bus, r.ID, events.ReplayDone)
	all, distinct := one[int64](t, pool, jobsOf, "added"), one[int64](t, pool, eventsOf, "added")
	if r.Queued != 1 || all != 4 || distinct != 4 {
		t.Errorf("%d queued, %d jobs for %d events; want 1, 4 and 4", r.Queued, all, distinct)
	}
}

// Promise: an event that was recorded before a replay began and fanned out after has its job from the relay, and from nobody else.
func TestReplayLeavesTheBacklogToTheRelay(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{to("added", ignore)}})
	var r events.Replay
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, start pgx.Tx) error {
		err := pg.InTx(ctx, pool, func(ctx context.Context, hold pgx.Tx) (err error) {
			if _, err := hold.Exec(ctx, `lock table postbus.events in exclusive mode`); err != nil { // no relay claims meanwhile
				return err
			}
			for _, subject := range []string{"a", "b", "c"} {
				if err := bus.Recorder().With(hold).Record(ctx, "owner", noteChanged.Name, subject, nil); err != nil {
					return err
				}
			}
			r, err = bus.Events().StartReplay(ctx, start, toSub("added"))
			return err
		})
		eventually(t, 10*time.Second, pool, int64(3), jobsOf, "added")
		return err // only now the walk begins
	})
	if err != nil {
		t.Fatal(err)
	}
	r = replayEnds(t, bus, r.ID, events.ReplayDone)
	if n := one[int64](t, pool, jobsOf, "added"); n != 3 || r.Matched != 0 {
		t.Errorf("%d jobs for 3 events, %d of them from the replay", n, r.Queued)
	}
}

// Promise: an event that commits late, with a seq that the walk has passed, is not lost: it is fanned out like any other.
func TestEventThatCommitsBehindAReplayIsNotLost(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	old := history(t, pool, 1)
	bus := startBus(t, pool, withSub(to("added", ignore)))
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, late pgx.Tx) error {
		if err := old.Recorder().With(late).Record(ctx, "owner", noteChanged.Name, "late", nil); err != nil {
			return err
		}
		recordAll(t, pool, old.Recorder(), 10, numbered("later-"))
		eventually(t, 10*time.Second, pool, int64(0), unfannedSQL)
		spec := toSub("added")
		spec.Options = []byte(`{"missed_only": true}`)
		replayEnds(t, bus, startReplay(t, pool, bus, spec).ID, events.ReplayDone)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wait.Eventually(t, 10*time.Second, func() (bool, string) {
		e, err := bus.Events().LatestFor(t.Context(), "owner", "late")
		return err == nil && e.Fanout["added"] != "", "the late event has no job"
	})
}

// A replay hands over what its filters select and nothing else.
func TestReplayFilters(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	old := startBus(t, pool, postbus.Config{App: "old", Types: []events.Type{{Name: "a.x"}, {Name: "a.y"}, {Name: "b.x"}, {Name: "ab"}}})
	at := func(day int) time.Time { return time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC) }
	for i, typ := range []string{"a.x", "a.y", "b.x", "ab", "a.x", "a.y", "b.x", "ab"} {
		owner := []string{"ann", "bob"}[i/4]
		if err := old.Recorder().Record(t.Context(), owner, typ, owner+" "+typ, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Exec(t.Context(), `update postbus.events set occurred_at = $1 where subject = $2`, at(i+1), owner+" "+typ); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, 10*time.Second, pool, int64(0), unfannedSQL)
	var subs []events.Subscription
	cases := map[string]struct {
		spec events.ReplaySpec
		want string
	}{
		"everything": {events.ReplaySpec{}, "ann a.x, ann a.y, ann ab, ann b.x, bob a.x, bob a.y, bob ab, bob b.x"},
		"owner":      {events.ReplaySpec{OwnerID: "bob"}, "bob a.x, bob a.y, bob ab, bob b.x"},
		"type":       {events.ReplaySpec{Types: []string{"b.x"}}, "ann b.x, bob b.x"},
		"globs":      {events.ReplaySpec{Types: []string{"a.*", "b.x"}, OwnerID: "ann"}, "ann a.x, ann a.y, ann b.x"},
		"star":       {events.ReplaySpec{Types: []string{"*"}, OwnerID: "ann"}, "ann a.x, ann a.y, ann ab, ann b.x"},
		"since":      {events.ReplaySpec{Since: at(7)}, "bob ab, bob b.x"},
		"until":      {events.ReplaySpec{Until: at(3)}, "ann a.x, ann a.y"},
		"between":    {events.ReplaySpec{Since: at(2), Until: at(4)}, "ann a.y, ann b.x"},
		"nothing":    {events.ReplaySpec{OwnerID: "eve"}, ""},
		"past":       {events.ReplaySpec{Until: at(1).AddDate(-1, 0, 0)}, ""},
	}
	for name := range cases {
		subs = append(subs, events.Subscription{Name: name, Types: []string{"*"}, Handle: ignore})
	}
	bus := startBus(t, pool, postbus.Config{App: "new", Types: []events.Type{}, Subscriptions: subs})
	for name, c := range cases {
		c.spec.Target, c.spec.Name = events.ReplaySubscription, name
		replayEnds(t, bus, startReplay(t, pool, bus, c.spec).ID, events.ReplayDone)
		got := one[string](t, pool, `select coalesce(string_agg(e.subject, ', ' order by e.subject collate "C"), '') from postbus.river_job j
			join postbus.events e on e.id::text = j.args->>'event_id' where j.kind = $1`, name)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A replay that cannot be meant is refused with what to do, and nothing is left of it.
func TestReplayIsRefused(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{to("added", ignore)}})
	spec := func(change func(*events.ReplaySpec)) events.ReplaySpec {
		s := toSub("added")
		change(&s)
		return s
	}
	for says, s := range map[string]events.ReplaySpec{
		`"nobody" is declared by no instance`: toSub("nobody"),
		"is after until":                      spec(func(s *events.ReplaySpec) { s.Since = time.Now().Add(time.Hour) }),
		"use a type's name":                   spec(func(s *events.ReplaySpec) { s.Types = []string{"*.x"} }),
		"no replay target of the kind":        spec(func(s *events.ReplaySpec) { s.Target = "mars" }),
		"missed_only":                         spec(func(s *events.ReplaySpec) { s.Options = []byte(`{"missed": 1}`) }),
		"without NUL":                         spec(func(s *events.ReplaySpec) { s.OwnerID = "a\x00" }),
	} {
		err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
			_, err := bus.Events().StartReplay(ctx, tx, s)
			if !errors.Is(err, events.ErrInvalid) || !strings.Contains(err.Error(), says) {
				t.Errorf("%+v: %v; want ErrInvalid that says %q", s, err, says)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: the caller's transaction is lost: %v", says, err)
		}
	}
	if n := one[int64](t, pool, `select count(*) from postbus.replays`); n != 0 {
		t.Errorf("%d replays", n)
	}
	if _, err := bus.Events().Replay(t.Context(), "nonsense"); !errors.Is(err, events.ErrReplayNotFound) {
		t.Errorf("a replay that is not there: %v", err)
	}
}
