package events

import (
	"context"
	_ "embed" // for the text

	"github.com/jackc/pgx/v5"
)

//go:embed extras.sql
var extras string

var written = "text"

// wrapper passes on what it is given.
type wrapper struct{ conn *pgx.Conn }

func (w wrapper) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	_ = w.conn.QueryRow(ctx, sql)     // want sql
	_, _ = w.conn.Query(ctx, written) // want sql
	return w.conn.Query(ctx, sql, args...)
}

func (w wrapper) Migrate(ctx context.Context, sql string) {
	_, _ = w.conn.Exec(ctx, extras)
	_, _ = w.conn.Exec(ctx, sql) // want sql
	_, _ = w.Query(ctx, written) // want sql
}

// Query is no wrapper's method.
func Query(ctx context.Context, conn *pgx.Conn, sql string) {
	_, _ = conn.Query(ctx, sql) // want sql
}
