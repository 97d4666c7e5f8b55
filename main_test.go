package postbus_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/pg"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(crashChildEnv); url != "" {
		crashChild(url)
		return
	}
	_ = flag.Set("rapid.checks", "200") // a default: the command line comes after
	testdb.Run(m, func(ctx context.Context, pool *pgxpool.Pool) error { return pg.Migrate(ctx, pool, river.Migrator()) })
}

func quiet() *slog.Logger { return testdb.Log() }

// noteChanged is the event type that most tests record.
var noteChanged = events.Type{Name: "note.changed", Subject: "note id"}

// quick shortens every loop, so that a test waits for what it is about and not for the clock.
func quick(cfg postbus.Config) postbus.Config {
	if cfg.App == "" {
		cfg.App = "app"
	}
	if cfg.Log == nil {
		cfg.Log = quiet()
	}
	if cfg.Types == nil {
		cfg.Types = []events.Type{noteChanged}
	}
	cfg.PollInterval = 100 * time.Millisecond
	cfg.BackoffBase, cfg.BackoffMax = 20*time.Millisecond, 200*time.Millisecond
	return cfg
}

// startBus starts a bus and stops it at the test's end.
func startBus(t testing.TB, pool *pgxpool.Pool, cfg postbus.Config) *postbus.Bus {
	t.Helper()
	bus, err := postbus.New(pool, quick(cfg))
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bus.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return bus
}

// to is a subscription that tells seen of each event.
func to(name string, handle func(ctx context.Context, e events.Event) error) events.Subscription {
	return events.Subscription{Name: name, Types: []string{"note.*"}, Handle: handle}
}

func ignore(context.Context, events.Event) error { return nil }

// recordAll records n events in one transaction, with subjects that subject gives.
func recordAll(t testing.TB, pool *pgxpool.Pool, rec events.Recorder, n int, subject func(i int) string) {
	t.Helper()
	err := pg.InTx(context.Background(), pool, func(ctx context.Context, tx pgx.Tx) error {
		for i := range n {
			if err := rec.With(tx).Record(ctx, "owner", noteChanged.Name, subject(i), map[string]int{"n": i}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func numbered(prefix string) func(int) string {
	return func(i int) string { return fmt.Sprintf("%s%d", prefix, i) }
}

// one reads a single value.
func one[T any](t testing.TB, db pg.DBTX, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := db.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// eventually waits until the query answers want.
func eventually[T comparable](t testing.TB, within time.Duration, db pg.DBTX, want T, sql string, args ...any) {
	t.Helper()
	wait.Eventually(t, within, func() (bool, string) {
		var got T
		if err := db.QueryRow(context.Background(), sql, args...).Scan(&got); err != nil {
			return false, err.Error()
		}
		return got == want, fmt.Sprintf("%s: is %v, want %v", sql, got, want)
	})
}

const (
	unfannedSQL = `select count(*) from postbus.events where fanned_out_at is null`
	// doubledSQL counts (event, subscription) pairs that have more than one job.
	doubledSQL = `select count(*) from (select from postbus.river_job
		group by args->>'event_id', args->>'subscription' having count(*) > 1 and min(args->>'event_id') is not null) as d`
)
