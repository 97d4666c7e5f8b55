// Package pg may begin transactions, make goroutines and write SQL.
package pg

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/loop"
	_ "github.com/postbus/postbus/internal/wait" // want arrows pulls
)

// InTx begins.
func InTx(ctx context.Context, conn *pgx.Conn) (pgx.Tx, error) {
	go loop.Run()
	_, _ = conn.Exec(ctx, "set local statement_timeout = 0")
	return conn.Begin(ctx)
}
