//go:build unix

package postbus_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/internal/testdb"
)

// Promise: a crash anywhere in a pass has the rows claimed again, also where the server does not hear of it: a process that stands
// still, or whose machine is gone without a word, holds what it claimed for seconds, and not for the hours that TCP would take.
func TestProcessThatStandsStillInMidPassHoldsNothing(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	mustExec(t, pool, `create table handled (event_id uuid, name text, times int default 1, primary key (event_id, name))`)
	bus, err := postbus.New(pool, crashConfig(pool, "crash"))
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Declare(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := crasher{t: t, pool: pool, url: url, rec: bus.Recorder()}

	hold, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hold.Rollback(context.Background()) }()
	if _, err := hold.Exec(t.Context(), `lock table postbus.river_job in share mode`); err != nil {
		t.Fatal(err)
	}
	child := c.spawn()
	defer c.kill(child)
	c.record(100)
	eventually(t, within, pool, true, `select exists (select from pg_stat_activity where wait_event_type = 'Lock'
		and query ilike '%insert into postbus.river_job%' and datname = current_database())`) // it has claimed
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := hold.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, within, pool, true, `select exists (select from pg_stat_activity where state = 'idle in transaction' and datname = current_database())`)
	if err := bus.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bus.Stop(context.Background()) }()
	eventually(t, time.Minute, pool, int64(0), unfannedSQL)
	eventually(t, time.Minute, pool, int64(c.recorded*len(crashSubs)), `select count(*) from handled`)
	if n := one[int64](t, pool, doubledSQL); n != 0 {
		t.Errorf("%d (event, subscription) pairs have two jobs", n)
	}
}
