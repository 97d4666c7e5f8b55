package main

import (
	"bytes"
	"testing"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/pg"
)

// What migrate sql prints makes the tables that migrate up makes: afterwards nothing is pending, and the queue's can follow.
func TestPrintedSQLIsWhole(t *testing.T) {
	t.Parallel()
	var script bytes.Buffer
	if err := printSQL(&script); err != nil {
		t.Fatal(err)
	}
	pool := testdb.Empty(t)
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Conn().PgConn().Exec(t.Context(), script.String()).ReadAll()
	conn.Release()
	if err != nil {
		t.Fatal(err)
	}
	status, err := pg.ReadStatus(t.Context(), pool)
	if err != nil || len(status.Pending) > 0 || len(status.Unknown) > 0 || len(status.Applied) != len(pg.Migrations()) {
		t.Errorf("status %+v, %v", status, err)
	}
	if err := pg.Migrate(t.Context(), pool, river.Migrator()); err != nil {
		t.Error(err)
	}
}
