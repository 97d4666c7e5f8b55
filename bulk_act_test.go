package postbus_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/bulk"
	"github.com/postbus/postbus/pg"
)

// Promise: every bus does acts on many jobs, with nothing declared for them.
func TestBusDoesBulkActs(t *testing.T) {
	t.Parallel()
	const all = 1500
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{})
	if _, err := pool.Exec(t.Context(), `insert into postbus.river_job (state, attempt, max_attempts, created_at, finalized_at, args, kind, queue)
		select 'discarded', 1, 1, now() - interval '1 hour', now(), '{}', 'nobodys', 'nobodys' from generate_series(1, $1::int)`, all); err != nil {
		t.Fatal(err)
	}
	var act bulk.Act
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		act, err = bus.Bulk().Start(ctx, tx, bulk.Spec{Verb: bulk.Retry, Filter: jobs.Filter{Kinds: []string{"nobodys"}}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	wait.Eventually(t, time.Minute, func() (bool, string) {
		if act, err = bus.Bulk().Get(t.Context(), act.ID); err != nil {
			t.Fatal(err)
		}
		return !act.Open(), "the act is " + string(act.State)
	})
	if act.State != bulk.Done || act.Changed != all {
		t.Errorf("the act is %s and has changed %d jobs, want done and %d", act.State, act.Changed, all)
	}
}
