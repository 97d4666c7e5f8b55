package postbus_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/pg"
)

// Promise: a relay fans out for every subscription of every living version, whichever version it is itself.
func TestRollingDeployReachesTheNewSubscriptionExactlyOnce(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	old := postbus.Config{App: "shop", Version: "1", Subscriptions: []events.Subscription{to("old", ignore)}}
	first := startStoppable(t, pool, old)
	h := &handledSet{}
	v2 := startBus(t, pool, postbus.Config{App: "shop", Version: "2", Subscriptions: []events.Subscription{
		to("old", ignore), to("added", h.handle),
	}})
	recordAll(t, pool, v2.Recorder(), 100, numbered("before-"))
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := startBus(t, pool, old) // the old version boots after the new one
	recordAll(t, pool, again.Recorder(), 100, numbered("after-"))

	eventually(t, 20*time.Second, pool, int64(0), unfannedSQL)
	eventually(t, 20*time.Second, pool, int64(200), `select count(*) from postbus.river_job where kind = 'added' and state = 'completed'`)
	if n := one[int64](t, pool, `select count(*) from postbus.river_job where kind = 'added'`); n != 200 {
		t.Errorf("the new subscription got %d jobs for 200 events", n)
	}
	runners := one[int64](t, pool, `select count(distinct attempted_by[cardinality(attempted_by)]) from postbus.river_job where kind = 'added'`)
	if runners != 1 {
		t.Errorf("jobs of the new subscription ran in %d instances, want 1: the old version does not know it", runners)
	}
}

func startStoppable(t *testing.T, pool *pgxpool.Pool, cfg postbus.Config) *postbus.Bus {
	t.Helper()
	bus, err := postbus.New(pool, quick(cfg))
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Stop(context.Background()) })
	return bus
}

// Promise: a subscription that is registered between a relay's claim and its read of the mirror is not missed.
func TestSubscriptionRegisteredBetweenClaimAndReadIsNotMissed(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	relay := startBus(t, pool, postbus.Config{App: "relay"})
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), `lock table postbus.subscriptions in access exclusive mode`); err != nil {
		t.Fatal(err)
	}
	recordAll(t, pool, relay.Recorder(), 1, numbered("note-"))
	eventually(t, 10*time.Second, pool, true, `select count(*) > 0 from pg_stat_activity
		where wait_event_type = 'Lock' and query like '%from postbus.subscriptions%' and datname = current_database()`)
	registerAs(t, tx, "late")
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, pool, int64(1), `select count(*) from postbus.river_job where kind = 'late'`)
}

// registerAs writes a subscription's row as another process's boot would, inside tx.
func registerAs(t *testing.T, tx pgx.Tx, name string) {
	t.Helper()
	_, err := tx.Exec(t.Context(), `insert into postbus.subscriptions
		(name, declaration, app, types, coalesces, queue, max_attempts) values ($1, 'x', $1, '{note.*}', false, 'default', 3)`, name)
	if err != nil {
		t.Fatal(err)
	}
}

// Promise: the job of an application whose only worker died is neither discarded nor run by another application; it runs when
// its own comes back.
func TestJobOfADeadApplicationWaitsForItsReturn(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := pool.Exec(t.Context(), `create table handled (event_id uuid, name text, times int default 1, primary key (event_id, name))`); err != nil {
		t.Fatal(err)
	}
	leader := startBus(t, pool, postbus.Config{App: "leader"})
	c := crasher{t: t, pool: pool, url: url, rec: leader.Recorder()}
	child := c.spawnApp("billing")
	eventually(t, 20*time.Second, pool, int64(3), `select count(*) from postbus.subscriptions where app = 'billing'`)

	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), `lock table handled in share mode`); err != nil {
		t.Fatal(err)
	}
	recordAll(t, pool, leader.Recorder(), 1, numbered("note-"))
	eventually(t, 10*time.Second, pool, int64(3), `select count(*) from postbus.river_job where state = 'running' and kind = any($1)`, crashSubs)
	c.kill(child)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, 15*time.Second, pool, int64(3), `select count(*) from postbus.river_job where state = 'available' and kind = any($1)`, crashSubs)
	wait.Eventually(t, 60*time.Second, func() (bool, string) {
		alerts, _ := leader.Events().Alerts(t.Context())
		for _, a := range alerts {
			if a.Name == events.AlertOrphaned && a.Count == 3 {
				return true, ""
			}
		}
		return false, "no orphaned_kind alert"
	})
	child = c.spawnApp("billing")
	defer c.kill(child)
	eventually(t, 20*time.Second, pool, int64(3), `select count(*) from postbus.river_job where state = 'completed' and kind = any($1)`, crashSubs)
}

// The same from the other side: a subscription that is registered while a relay is in its claim is not missed, which it would be
// if the mirror were read before the claim.
func TestSubscriptionRegisteredDuringTheClaimIsNotMissed(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	relay := startBus(t, pool, postbus.Config{App: "relay"})
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, hold pgx.Tx) error {
		if _, err := hold.Exec(ctx, `lock table postbus.events in exclusive mode`); err != nil {
			return err
		}
		if err := relay.Recorder().With(hold).Record(ctx, "owner", noteChanged.Name, "note", nil); err != nil {
			return err
		}
		eventually(t, 10*time.Second, pool, true, `select count(*) > 0 from pg_stat_activity
			where wait_event_type = 'Lock' and query like '%ClaimEvents%' and datname = current_database()`)
		return pg.InTx(ctx, pool, func(_ context.Context, tx pgx.Tx) error {
			registerAs(t, tx, "late")
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, pool, int64(1), `select count(*) from postbus.river_job where kind = 'late'`)
}
