package pg_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/pg"
)

// migratorFunc is a runtime's migrator.
type migratorFunc func(ctx context.Context, pool *pgxpool.Pool) error

func (f migratorFunc) Migrate(ctx context.Context, pool *pgxpool.Pool) error { return f(ctx, pool) }

// A second process booting at once waits, and then finds everything done; the runtimes' migrators
// run under the same lock.
func TestMigrateFromManyProcessesAtOnce(t *testing.T) {
	t.Parallel()
	pool := testdb.Empty(t)
	config := pool.Config()
	config.MaxConns = 40
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var inside, overlaps, calls atomic.Int32
	runtime := migratorFunc(func(ctx context.Context, pool *pgxpool.Pool) error {
		defer inside.Add(-1)
		if inside.Add(1) > 1 {
			overlaps.Add(1)
		}
		calls.Add(1)
		_, err := pool.Exec(ctx, "create table if not exists postbus.runtime ()")
		return err
	})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := pg.Migrate(t.Context(), pool, runtime); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if calls.Load() != 8 || overlaps.Load() != 0 {
		t.Errorf("the runtime's migrator: calls = %d, overlaps = %d, want 8 and 0", calls.Load(), overlaps.Load())
	}
	status, err := pg.ReadStatus(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	if len(status.Applied) != len(pg.Migrations()) || len(status.Pending)+len(status.Unknown) != 0 {
		t.Errorf("applied = %d, pending = %d, unknown = %d, want %d, 0, 0",
			len(status.Applied), len(status.Pending), len(status.Unknown), len(pg.Migrations()))
	}
}

func TestMigrateWaitsNoLongerThanItsContext(t *testing.T) {
	t.Parallel()
	pool := testdb.Empty(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := pg.Migrate(t.Context(), pool, migratorFunc(func(context.Context, *pgxpool.Pool) error {
		inner := migratorFunc(func(context.Context, *pgxpool.Pool) error { return errors.New("got in") })
		cancelled := make(chan error, 1)
		go func() { cancelled <- pg.Migrate(ctx, pool, inner) }()
		cancel()
		return <-cancelled
	}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
}

// Each migration is all or nothing, and its failure names it; the next attempt goes on from there.
func TestMigrateGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	pool := testdb.Empty(t)
	last := pg.Migrations()[len(pg.Migrations())-1]
	if err := pg.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), "delete from postbus.migrations where version = $1", last.Version); err != nil {
		t.Fatal(err)
	}
	err := pg.Migrate(t.Context(), pool) // the objects are there already
	if err == nil || !strings.Contains(err.Error(), last.Name) {
		t.Errorf("error = %v, want one that names %s", err, last.Name)
	}
	script(t, pool, last.Down)
	if err := pg.Migrate(t.Context(), pool); err != nil {
		t.Error(err)
	}
}

// Every migration has a way back, and after it the way there is free again.
func TestMigrationsGoDownAndUpAgain(t *testing.T) {
	t.Parallel()
	pool := testdb.Empty(t)
	for range 2 {
		if err := pg.Migrate(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
		all := pg.Migrations()
		for i := len(all) - 1; i >= 0; i-- {
			script(t, pool, all[i].Down)
		}
		var left bool
		if err := pool.QueryRow(t.Context(), "select to_regnamespace('postbus') is not null").Scan(&left); err != nil {
			t.Fatal(err)
		}
		if left {
			t.Fatal("the schema is still there after the last step back")
		}
	}
}

// A database that a newer version has migrated is left as it is.
func TestMigrateAllowsANewerDatabase(t *testing.T) {
	t.Parallel()
	pool := testdb.Empty(t)
	if err := pg.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	script(t, pool, "insert into postbus.migrations (version, name) values (9001, 'from_the_future')")
	if err := pg.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	status, err := pg.ReadStatus(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, unknown := range status.Unknown {
		names = append(names, unknown.Name)
	}
	if diff := cmp.Diff([]string{"from_the_future"}, names); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
}

func TestStatusOfAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	status, err := pg.ReadStatus(t.Context(), testdb.Empty(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(status.Pending) != len(pg.Migrations()) || len(status.Applied) != 0 {
		t.Errorf("pending = %d, applied = %d, want all and none", len(status.Pending), len(status.Applied))
	}
}

func script(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Conn().PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
		t.Fatalf("%v in:\n%s", err, sql)
	}
}
