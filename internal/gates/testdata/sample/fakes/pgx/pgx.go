// Package pgx stands in for the real one.
package pgx

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"
)

type Tx interface {
	Commit(ctx context.Context) error
}

type Rows interface{ Next() bool }

type Row interface{ Scan(dest ...any) error }

type TxOptions struct{}

type Conn struct{}

func (c *Conn) Begin(context.Context) (Tx, error)              { return nil, nil }
func (c *Conn) BeginTx(context.Context, TxOptions) (Tx, error) { return nil, nil }
func (c *Conn) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return pgconn.CommandTag{}, nil
}
func (c *Conn) Query(context.Context, string, ...any) (Rows, error) { return nil, nil }
func (c *Conn) QueryRow(context.Context, string, ...any) Row        { return nil }

type Batch struct{}

func (b *Batch) Queue(string, ...any) {}

func BeginFunc(context.Context, *Conn, func(Tx) error) error { return nil }
