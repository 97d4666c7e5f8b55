package postbus_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
)

// A HandleAll gets a wide job's events in one call, in order. Those that it names go on alone; by another error all do.
func TestWideJobInOneCall(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		answer func(es []events.Event) error
		jobs   string
		again  int
	}{
		"all done":       {func([]events.Event) error { return nil }, "1 jobs, 0 errors", 0},
		"one is named":   {func(es []events.Event) error { return events.Failed{es[4].ID: broken} }, "2 jobs, 1 errors", 1},
		"none by name":   {func([]events.Event) error { return broken }, "21 jobs, 20 errors", 20},
		"a foreign name": {func([]events.Event) error { return events.Failed{"no event of these": broken} }, "21 jobs, 20 errors", 20},
		"a panic":        {func([]events.Event) error { panic("oh") }, "21 jobs, 20 errors", 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var first []string
			again := 0
			sub := events.Subscription{Name: "wide", Types: []string{"note.*"}, Batch: 200}
			sub.HandleAll = func(_ context.Context, es []events.Event) error {
				mu.Lock()
				defer mu.Unlock()
				if first != nil {
					again += len(es)
					return nil
				}
				for _, e := range es {
					first = append(first, e.Subject)
				}
				return c.answer(es)
			}
			sub.Backoff = func(int) time.Duration { return 50 * time.Millisecond }
			pool, _ := startWide(t, 20, sub)
			eventually(t, 30*time.Second, pool, c.jobs, `select count(*) || ' jobs, ' || coalesce(sum(cardinality(errors)), 0) || ' errors'
				from postbus.river_job where kind = 'wide' having bool_and(state = 'completed')`)
			mu.Lock()
			defer mu.Unlock()
			want := make([]string, 20)
			for i := range want {
				want[i] = numbered("note-")(i)
			}
			if !slices.Equal(first, want) || again != c.again {
				t.Errorf("the first call had %v, then %d more; want all in order, then %d", first, again, c.again)
			}
		})
	}
}

// Batch is refused where it would break a promise of something else, with what to leave out.
func TestBatchIsRefused(t *testing.T) {
	t.Parallel()
	all := func(context.Context, []events.Event) error { return nil }
	for says, change := range map[string]func(s *events.Subscription){
		"use 0 to 1000":             func(s *events.Subscription) { s.Batch = 1001 },
		"refused with Coalesce":     func(s *events.Subscription) { s.Coalesce = true },
		"refused with Receipt":      func(s *events.Subscription) { s.Receipt = true },
		"refused with External":     func(s *events.Subscription) { s.External, s.Handle = true, nil },
		"refused with the effect":   func(s *events.Subscription) { s.Effect = events.Mail },
		"a Handle and a HandleAll":  func(s *events.Subscription) { s.HandleAll = all },
		"a HandleAll and no Batch:": func(s *events.Subscription) { s.Handle, s.HandleAll, s.Batch = nil, all, 0 },
	} {
		sub := wide(ignore)
		change(&sub)
		_, err := postbus.New(testPool(t), quick(postbus.Config{Subscriptions: []events.Subscription{sub}}))
		if !errors.Is(err, events.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
}

// testPool is a pool that is never used.
func testPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	return testdb.New(t)
}

// wideApp is the application whose child process handles wide jobs.
const wideApp = "wide"

// wideHandling handles an event by one row, as crashSubs do.
func wideHandling(pool *pgxpool.Pool) events.Subscription {
	return wide(func(ctx context.Context, e events.Event) error {
		_, err := pool.Exec(ctx, `insert into handled as h (event_id, name) values ($1, 'wide')
			on conflict (event_id, name) do update set times = h.times + 1`, e.ID)
		return err
	})
}

// Promise: a process that is killed amid a wide job loses nothing and repeats at most the events of that job.
func TestWideJobKilledInMidBatch(t *testing.T) {
	t.Parallel()
	c := wideCrasher(t)
	c.record(1000)
	var ran int64 // events of the jobs that were killed
	for range 3 {
		cmd := c.spawnApp(wideApp)
		tx, err := c.pool.Begin(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		before := one[int64](t, c.pool, `select count(*) from handled`)
		eventually(t, 60*time.Second, c.pool, true, `select count(*) > $1 + 50 from handled`, before)
		if _, err := tx.Exec(context.Background(), `lock table handled in share mode`); err != nil {
			t.Fatal(err)
		}
		ran += one[int64](t, c.pool, `select sum((args ->> 'events')::int) from postbus.river_job where kind = 'wide' and state = 'running'`)
		c.kill(cmd)
		_ = tx.Rollback(context.Background())
		c.record(1000)
	}
	cmd := c.spawnApp(wideApp)
	defer c.kill(cmd)
	eventually(t, 2*time.Minute, c.pool, int64(c.recorded), `select count(*) from handled`)
	eventually(t, time.Minute, c.pool, int64(0), `select count(*) from postbus.river_job where kind = 'wide' and state <> 'completed'`)
	again, rescued := one[int64](t, c.pool, `select coalesce(sum(times - 1), 0) from handled`),
		one[int64](t, c.pool, `select count(*) from postbus.river_job where kind = 'wide' and cardinality(errors) > 0`)
	if again == 0 || rescued == 0 {
		t.Errorf("%d handled again, %d jobs rescued: the kills hit nothing", again, rescued)
	}
	if again > ran {
		t.Errorf("%d handled again: the jobs that were killed had %d", again, ran)
	}
	if n := one[int64](t, c.pool, `select count(*) from postbus.events as e inner join postbus.river_job as j on j.id = (e.fanout ->> 'wide')::bigint`); n != int64(c.recorded) {
		t.Errorf("%d of %d events have the job that their fan-out names", n, c.recorded)
	}
	t.Logf("%d events, %d jobs rescued, %d events handled again of %d", c.recorded, rescued, again, ran)
}

func wideCrasher(t *testing.T) *crasher {
	t.Helper()
	url := testdb.URL(t)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := pool.Exec(t.Context(), `create table handled (event_id uuid, name text, times int default 1, primary key (event_id, name))`); err != nil {
		t.Fatal(err)
	}
	bus, err := postbus.New(pool, crashConfig(pool, wideApp))
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Declare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &crasher{t: t, pool: pool, url: url, rec: bus.Recorder()}
}
