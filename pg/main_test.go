package pg_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/testdb"
)

func TestMain(m *testing.M) {
	testdb.Run(m, func(ctx context.Context, pool *pgxpool.Pool) error {
		_, err := pool.Exec(ctx, "create table notes (id int primary key, parent int references notes deferrable initially deferred)")
		return err
	})
}

// ids returns what is in the table notes.
func ids(t *testing.T, pool *pgxpool.Pool) []int {
	t.Helper()
	var got []int
	err := pool.QueryRow(t.Context(), "select coalesce(array_agg(id order by id), '{}') from notes").Scan(&got)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
