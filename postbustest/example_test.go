package postbustest_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/pg"
	"github.com/postbus/postbus/postbustest"
)

func TestMain(m *testing.M) {
	testdb.Run(m, func(ctx context.Context, pool *pgxpool.Pool) error { return pg.Migrate(ctx, pool, river.Migrator()) })
}

// A test of an application: the transaction records what it should, and the subscriber does its work.
func TestRequireRecordedAndRunUntilIdle(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	handled := make(chan string, 10)
	bus, err := postbus.New(pool, postbus.Config{
		App: "shop", Types: []events.Type{{Name: "order.paid"}},
		Subscriptions: []events.Subscription{{Name: "shop.receipt", Types: []string{"order.paid"}, Handle: func(_ context.Context, e events.Event) error {
			handled <- e.Subject
			return nil
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Declare(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		if err := bus.Recorder().With(tx).Record(ctx, "ann", "order.paid", "42", map[string]int{"total": 1999}); err != nil {
			return err
		}
		got := postbustest.RequireRecorded(t, tx, postbustest.Want{OwnerID: "ann", Type: "order.paid", Data: map[string]any{"total": 1999}})
		if got.Subject != "42" {
			t.Errorf("subject %q", got.Subject)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	postbustest.RunUntilIdle(t, bus, 20*time.Second)
	if len(handled) != 1 || <-handled != "42" {
		t.Error("the subscriber did not handle the event once")
	}
}

// A helper that cannot fail is a defect: what was not recorded fails the test and says what was.
func TestRequireRecordedFailsForWhatIsNotThere(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	inner := &failing{TB: t}
	done := make(chan struct{})
	go func() { // Fatalf ends the goroutine
		defer close(done)
		postbustest.RequireRecorded(inner, pool, postbustest.Want{Type: "order.paid"})
	}()
	<-done
	if !inner.failed {
		t.Error("an event that was not recorded was found")
	}
}
