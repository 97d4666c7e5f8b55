package testdb_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/testdb"
)

func TestMain(m *testing.M) {
	testdb.Run(m, func(ctx context.Context, pool *pgxpool.Pool) error {
		_, err := pool.Exec(ctx, "create table marks (test text)")
		return err
	})
}

// No test sees another's rows.
func TestEachTestHasItsOwnDatabase(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := testdb.New(t)
			if _, err := pool.Exec(t.Context(), "insert into marks values ($1)", name); err != nil {
				t.Fatal(err)
			}
			var got []string
			if err := pool.QueryRow(t.Context(), "select array_agg(test) from marks").Scan(&got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{name}, got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEmptyHasNoMigrations(t *testing.T) {
	t.Parallel()
	var missing bool
	if err := testdb.Empty(t).QueryRow(t.Context(), "select to_regclass('marks') is null").Scan(&missing); err != nil {
		t.Fatal(err)
	}
	if !missing {
		t.Error("an empty database has the migrated table")
	}
}

func TestDatabaseGoesWithItsTest(t *testing.T) {
	t.Parallel()
	var name string
	t.Run("user", func(t *testing.T) {
		if err := testdb.New(t).QueryRow(t.Context(), "select current_database()").Scan(&name); err != nil {
			t.Fatal(err)
		}
	})
	var left int
	if err := testdb.Empty(t).QueryRow(t.Context(), "select count(*) from pg_database where datname = $1", name).Scan(&left); err != nil {
		t.Fatal(err)
	}
	if left != 0 {
		t.Errorf("database %s outlived its test", name)
	}
}

func TestServerIsPrivate(t *testing.T) {
	t.Parallel()
	server := testdb.Server(t)
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := pool.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
}
