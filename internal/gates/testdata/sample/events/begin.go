package events

import (
	"context"
	"database/sql"

	driver "github.com/jackc/pgx/v5"
)

// Beginner hides a pool behind an interface of its own.
type Beginner interface {
	Begin(ctx context.Context) (driver.Tx, error)
}

// Parser begins something else.
type Parser interface{ Begin() }

func begin(ctx context.Context, conn *driver.Conn, b Beginner, db *sql.DB, p Parser) {
	p.Begin()
	_, _ = conn.Begin(ctx)                       // want begin
	_, _ = conn.BeginTx(ctx, driver.TxOptions{}) // want begin
	_, _ = b.Begin(ctx)                          // want begin
	_, _ = db.BeginTx(ctx, nil)                  // want begin
	_ = driver.BeginFunc(ctx, conn, nil)         // want begin
	later := conn.Begin                          // want begin
	_, _ = later(ctx)
}
