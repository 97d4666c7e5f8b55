package testdb

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Migrate brings an empty database to what the package's tests expect.
type Migrate = func(ctx context.Context, pool *pgxpool.Pool) error

// binary is the state of this test binary: Run and the tests that it runs have no other way to
// meet than a package variable.
var binary cluster

// logs is a package variable for the same reason.
var logs book

// Run runs the tests of a package and then stops what they started. Call it from TestMain, which
// then returns: the testing package exits with the tests' result. The default logger writes to Log too.
func Run(m *testing.M, migrate Migrate) {
	binary.migrate = migrate
	slog.SetDefault(Logged(slog.NewTextHandler(os.Stderr, nil)))
	m.Run()
	if err := binary.close(); err != nil {
		fmt.Fprintln(os.Stderr, "testdb:", err)
	}
}
