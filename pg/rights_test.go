package pg_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/pg"
)

// as returns a pool on the same database for a role made for this test.
func as(t *testing.T, admin *pgxpool.Pool) (pool *pgxpool.Pool, role string) {
	t.Helper()
	role = "postbus_test_" + strings.ToLower(rand.Text()[:10])
	script(t, admin, fmt.Sprintf("create role %s login password 'x'", role))
	config := admin.Config()
	config.ConnConfig.User, config.ConnConfig.Password = role, "x"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pool.Close()
		ctx := context.Background() // the test's own has ended
		if _, err := admin.Exec(ctx, "drop owned by "+role+" cascade"); err != nil {
			t.Error(err)
		}
		if _, err := admin.Exec(ctx, "drop role "+role); err != nil {
			t.Error(err)
		}
	})
	return pool, role
}

// A role that lacks rights is told who it is, where, and the statement that helps. That statement
// does help.
func TestMigrateNamesTheMissingRight(t *testing.T) {
	t.Parallel()
	admin := testdb.Empty(t)
	pool, role := as(t, admin)
	for _, step := range []struct{ want, help string }{
		{"may not create the schema postbus", "create schema postbus"},
		{"may not create tables in schema postbus", "grant usage, create on schema postbus to " + role},
	} {
		err := pg.Migrate(t.Context(), pool)
		if err == nil {
			t.Fatal("the role could migrate")
		}
		for _, want := range []string{step.want, role, pool.Config().ConnConfig.Database} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error does not say %q: %v", want, err)
			}
		}
		script(t, admin, step.help)
	}
	if err := pg.Migrate(t.Context(), pool); err != nil {
		t.Errorf("after the grants: %v", err)
	}
}

func TestMigrateInASchemaMadeByAnAdministrator(t *testing.T) {
	t.Parallel()
	admin := testdb.Empty(t)
	pool, role := as(t, admin)
	script(t, admin, "create schema postbus authorization "+role)
	for range 2 {
		if err := pg.Migrate(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMigrateSaysThatThePoolIsTooSmall(t *testing.T) {
	t.Parallel()
	config := testdb.Empty(t).Config()
	config.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := pg.Migrate(t.Context(), pool); err == nil || !strings.Contains(err.Error(), "pool_max_conns") {
		t.Errorf("error = %v, want one that names pool_max_conns", err)
	}
}
