package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/pg"
)

// TestMain is the program itself where the test binary is called by its name, as scripts do.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "postbus" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		os.Exit(run(ctx, os.Args[1:]))
	}
	testdb.Run(m, func(ctx context.Context, pool *pgxpool.Pool) error { return pg.Migrate(ctx, pool, river.Migrator()) })
	released.remove()
}

// programDir makes a folder with the program in it.
func programDir(t testing.TB) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "postbus")); err != nil {
		t.Fatal(err)
	}
	return dir
}
