// Package wait is for tests.
package wait

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Eventually waits.
func Eventually(t testing.TB, conn *pgx.Conn) {
	go conn.Begin(context.Background())
	_ = conn.QueryRow(context.Background(), "select 1")
}
