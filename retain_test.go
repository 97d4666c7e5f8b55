package postbus_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// keeper is a retainer over a table of its own: a row is kept about an event, and holds it while it is open.
type keeper struct{ refuse error }

const keptTable = `create table kept (event_id uuid, open boolean)`

func (k keeper) Holding(ctx context.Context, tx pgx.Tx, ids []string) ([]string, error) {
	rows, err := tx.Query(ctx, `select distinct event_id::text from kept where open and event_id = any($1)`, ids)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func (k keeper) Pruned(ctx context.Context, tx pgx.Tx, ids []string) error {
	if _, err := tx.Exec(ctx, `delete from kept where event_id = any($1)`, ids); err != nil {
		return err
	}
	return k.refuse
}

// retained starts a bus with the retainer and answers it with n old events about which a row each is kept.
func retained(t *testing.T, pool *pgxpool.Pool, k keeper, n int) *postbus.Bus {
	t.Helper()
	mustExec(t, pool, keptTable)
	bus, err := postbus.New(pool, quick(postbus.Config{Retention: time.Hour}))
	if err != nil {
		t.Fatal(err)
	}
	bus.Events().Retain(k)
	if err := bus.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Stop(context.Background()) })
	recordAll(t, pool, bus.Recorder(), n, numbered("note-"))
	eventually(t, 10*time.Second, pool, int64(0), unfannedSQL)
	mustExec(t, pool, `update postbus.events set fanned_out_at = fanned_out_at - interval '1 day'`)
	mustExec(t, pool, `insert into kept select id, false from postbus.events`)
	return bus
}

func retention(t *testing.T, bus *postbus.Bus, want jobs.State) {
	t.Helper()
	id, err := bus.Inspector().RunPeriodic(t.Context(), "app", "events.retention")
	if err != nil {
		t.Fatal(err)
	}
	wait.Eventually(t, 20*time.Second, func() (bool, string) {
		job, err := bus.Inspector().Get(t.Context(), id)
		return err == nil && job.State == want, "the retention is " + string(job.State)
	})
}

const leftSQL = `select coalesce(string_agg(subject, ' ' order by subject), '') from postbus.events`

// Promise: retention never takes an event that something unfinished above needs, and with an event goes what was kept about it.
func TestRetentionAsksWhoStillNeedsAnEvent(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := retained(t, pool, keeper{}, 4)
	mustExec(t, pool, `update kept set open = true where event_id = (select id from postbus.events where subject = 'note-2')`)
	retention(t, bus, jobs.Completed)
	if left := one[string](t, pool, leftSQL); left != "note-2" {
		t.Errorf("left are %q, want the held note-2", left)
	}
	if n := one[int64](t, pool, `select count(*) from kept`); n != 1 {
		t.Errorf("%d rows are kept about 1 event", n)
	}
	mustExec(t, pool, `update kept set open = false`)
	retention(t, bus, jobs.Completed)
	if left := one[string](t, pool, leftSQL); left != "" {
		t.Errorf("left are %q, want none once nothing holds them", left)
	}
}

// Promise: an event and what was kept about it vanish together.
func TestFailedRetainerTakesNothing(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := retained(t, pool, keeper{refuse: errors.New("cannot")}, 3)
	retention(t, bus, jobs.Retryable)
	events, kept := one[int64](t, pool, `select count(*) from postbus.events`), one[int64](t, pool, `select count(*) from kept`)
	if events != 3 || kept != 3 {
		t.Errorf("%d events and %d kept rows after a failed prune, want 3 and 3", events, kept)
	}
}

// Promise: what begins to need an event while retention runs either has it or finds it gone: an event that is held by an open
// transaction is passed over, and by the next run it is needed.
func TestEventHeldByAnOpenTransactionIsPassedOver(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := retained(t, pool, keeper{}, 2)
	id := one[string](t, pool, `select id::text from postbus.events where subject = 'note-1'`)
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := bus.Events().Hold(ctx, tx, id); err != nil {
			return err
		}
		retention(t, bus, jobs.Completed)
		_, err := tx.Exec(ctx, `update kept set open = true where event_id = $1`, id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	retention(t, bus, jobs.Completed)
	if left := one[string](t, pool, leftSQL); left != "note-1" {
		t.Errorf("left are %q, want the held note-1", left)
	}
	if n := one[int64](t, pool, `select count(*) from kept`); n != 1 {
		t.Errorf("%d rows are kept about 1 event", n)
	}
	if _, err := bus.Events().Get(t.Context(), "00000000-0000-4000-8000-000000000000"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("an event that is not there: %v", err)
	}
}
