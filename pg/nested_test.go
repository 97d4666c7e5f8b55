package pg_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/pg"
)

// Only what the nested function did is rolled back, at every depth.
func TestNestedRollsBackItsOwnPart(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		if err := insert(ctx, tx, 1); err != nil {
			return err
		}
		err := pg.Nested(ctx, tx, func(ctx context.Context, tx pgx.Tx) error {
			if err := insert(ctx, tx, 2); err != nil {
				return err
			}
			err := pg.Nested(ctx, tx, func(ctx context.Context, tx pgx.Tx) error {
				return errors.Join(insert(ctx, tx, 3), errNo)
			})
			if !errors.Is(err, errNo) {
				t.Errorf("inner error = %v, want %v", err, errNo)
			}
			return insert(ctx, tx, 4)
		})
		if err != nil {
			return err
		}
		err = pg.Nested(ctx, tx, func(ctx context.Context, tx pgx.Tx) error { return insert(ctx, tx, 1) })
		if !pg.IsRowFault(err) {
			t.Errorf("error = %v, want the duplicate key", err)
		}
		return insert(ctx, tx, 5)
	})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, pool, 1, 2, 4, 5)
}

func TestNestedRollsBackOnAPanicAndPassesItOn(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		func() {
			defer func() {
				if got := recover(); got != "boom" {
					t.Errorf("panic = %v, want boom", got)
				}
			}()
			_ = pg.Nested(ctx, tx, func(ctx context.Context, tx pgx.Tx) error {
				if err := insert(ctx, tx, 1); err != nil {
					t.Error(err)
				}
				panic("boom")
			})
		}()
		return insert(ctx, tx, 2)
	})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, pool, 2)
}

// The rollback to the savepoint outlives a context that ended: the outer transaction goes on.
func TestNestedRollsBackWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		inner, cancel := context.WithCancel(ctx)
		err := pg.Nested(inner, tx, func(ctx context.Context, tx pgx.Tx) error {
			if err := insert(ctx, tx, 1); err != nil {
				return err
			}
			cancel()
			return ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v, want %v", err, context.Canceled)
		}
		return insert(ctx, tx, 2)
	})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, pool, 2)
}

// A failure leaves no savepoint open: a thousand of them in one transaction cost no more than one.
func TestNestedLeavesNoSavepoint(t *testing.T) {
	t.Parallel()
	err := pg.InTx(t.Context(), testdb.New(t), func(ctx context.Context, tx pgx.Tx) error {
		_ = pg.Nested(ctx, tx, func(context.Context, pgx.Tx) error { return errNo })
		_, err := tx.Exec(ctx, "release savepoint postbus")
		return err
	})
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "3B001" {
		t.Errorf("error = %v, want that there is no such savepoint", err)
	}
}

// Where db can begin a transaction, Nested is one of its own.
func TestNestedOnAPoolAndAConnection(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	conn, err := pgx.Connect(t.Context(), pool.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for id, db := range map[int]pg.DBTX{1: pool, 2: conn} {
		if err := pg.Nested(t.Context(), db, func(ctx context.Context, tx pgx.Tx) error { return insert(ctx, tx, id) }); err != nil {
			t.Error(err)
		}
		err := pg.Nested(t.Context(), db, func(ctx context.Context, tx pgx.Tx) error {
			return errors.Join(insert(ctx, tx, -id), errNo)
		})
		if !errors.Is(err, errNo) {
			t.Errorf("error = %v, want %v", err, errNo)
		}
	}
	expect(t, pool, 1, 2)
}
