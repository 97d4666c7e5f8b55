package postbus_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
)

type jobsArgs = json.RawMessage

func newPool(t *testing.T, cfg *pgxpool.Config) (*pgxpool.Pool, error) {
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err == nil {
		t.Cleanup(pool.Close)
	}
	return pool, err
}

// Promise: after Stop goroutines and connections are back to the start.
func TestStopLeavesNothingBehind(t *testing.T) { // not parallel: it looks at all goroutines of the process
	pool := testdb.New(t)
	if err := pool.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := goleak.IgnoreCurrent()
	bus, err := postbus.New(pool, quick(postbus.Config{Subscriptions: []events.Subscription{to("index", ignore)}}))
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	recordAll(t, pool, bus.Recorder(), 50, numbered("note-"))
	eventually(t, 10*time.Second, pool, int64(50), `select count(*) from postbus.river_job where kind = 'index' and state = 'completed'`)
	for range 2 {
		if err := bus.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if n := one[int64](t, pool, `select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`); n != 0 {
		t.Errorf("%d advisory locks are held after Stop", n)
	}
	pool.Reset()
	eventually(t, 5*time.Second, pool, int64(1), `select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() or pid = pg_backend_pid()`)
	goleak.VerifyNone(t, before)
}
