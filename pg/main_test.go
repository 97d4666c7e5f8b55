package pg_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/postbus/postbus/internal/testdb"
)

func TestMain(m *testing.M) {
	testdb.Run(m, func(ctx context.Context, pool *pgxpool.Pool) error {
		_, err := pool.Exec(ctx, "create table notes (id int primary key, parent int references notes deferrable initially deferred)")
		return err
	})
	// Stop, InTx and Migrate leave no goroutine behind. pgx may take a while to close what broke.
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
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
