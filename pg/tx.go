package pg

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// rollbackWithin bounds a rollback, which goes on after the caller's context has ended.
const rollbackWithin = 5 * time.Second

// ErrCommitUnknown says that the connection was lost after COMMIT was sent and before its answer
// came: the transaction may be committed or not. Whoever retries must find out first, or be
// idempotent. Every other error of InTx means that nothing was committed.
var ErrCommitUnknown = errors.New("the commit's outcome is unknown")

// InTx calls fn in a transaction (read committed, read write, whatever the database's defaults
// are) and commits when fn returns nil. When fn returns an error or panics, or when ctx ends, it
// rolls back, and the error or panic goes on to the caller. fn must neither commit nor roll back.
func InTx(ctx context.Context, pool *pgxpool.Pool, fn func(ctx context.Context, tx pgx.Tx) error) error {
	return begun(ctx, pool, readWrite, fn)
}

// InShortTx is InTx for work that many wait for and that makes one statement after the other, as all of the bus's own does: where the
// server hears nothing for 10 s in the middle of it, it rolls back and ends the session. Else a process that stands still, or whose
// machine is gone without a word, would keep its locks for as long as TCP waits for it, which is hours.
func InShortTx(ctx context.Context, pool *pgxpool.Pool, fn func(ctx context.Context, tx pgx.Tx) error) error {
	return begun(ctx, pool, short, fn)
}

// InSnapshot calls fn in a transaction whose statements all see the database as it was at the first of them, and none may
// write: for answers that are put together from several. It ends as InTx does.
func InSnapshot(ctx context.Context, pool *pgxpool.Pool, fn func(ctx context.Context, tx pgx.Tx) error) error {
	return begun(ctx, pool, snapshot, fn)
}

// What begins is explicit: under another default, serialization failures would come where nobody retries.
var (
	readWrite = pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	short     = pgx.TxOptions{BeginQuery: "begin isolation level read committed read write; set local idle_in_transaction_session_timeout = '10s'"}
	snapshot  = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
)

// Nested calls fn inside db: in a savepoint where db is a transaction, and in a transaction as
// InTx does where db is a pool or a connection. When fn returns an error or panics, only what fn
// did is rolled back, and an outer transaction can go on. fn must neither commit nor roll back.
func Nested(ctx context.Context, db DBTX, fn func(ctx context.Context, tx pgx.Tx) error) error {
	switch db := db.(type) {
	case pgx.Tx:
		return inSavepoint(ctx, db, fn)
	case beginner:
		return begun(ctx, db, readWrite, fn)
	default:
		return fmt.Errorf("pg: %T is neither a transaction nor something that can begin one", db)
	}
}

// beginner is a pool or a connection.
type beginner interface {
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

func begun(ctx context.Context, db beginner, options pgx.TxOptions, fn func(ctx context.Context, tx pgx.Tx) error) error {
	tx, err := db.BeginTx(ctx, options)
	if err != nil {
		return fmt.Errorf("pg: begin: %w", err)
	}
	finished := false
	defer func() {
		if finished {
			return
		}
		// After an error, a panic, or runtime.Goexit. A failed rollback closes the connection,
		// which rolls back as well: there is nothing to add to what the caller gets.
		ctx, cancel := outliving(ctx)
		defer cancel()
		_ = tx.Rollback(ctx)
	}()
	if err := fn(ctx, tx); err != nil {
		return err
	}
	finished = true
	sent := !tx.Conn().IsClosed()
	return commitError(tx.Commit(ctx), sent)
}

// commitError says what a failed commit means. sent says that the connection was open before it: the driver answers that the
// connection is closed, as where it sends nothing, where it broke while COMMIT was under way.
func commitError(err error, sent bool) error {
	var pgErr *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrTxCommitRollback):
		return fmt.Errorf("pg: commit: a statement had failed and its error was not returned, so the database rolled back: %w", err)
	case errors.Is(err, pgx.ErrTxClosed):
		return fmt.Errorf("pg: commit: the function ended the transaction itself: %w", err)
	case pgconn.SafeToRetry(err) && !(sent && errors.Is(err, pgconn.ErrConnClosed)): // nothing was sent
		return fmt.Errorf("pg: commit: %w", err)
	case errors.As(err, &pgErr) && !breaksOff(pgErr):
		return fmt.Errorf("pg: commit: %w", err)
	}
	return fmt.Errorf("pg: commit: %w: %w", ErrCommitUnknown, err)
}

// breaksOff says that the server ended the session, perhaps after it had committed, or that it
// says itself that it does not know.
func breaksOff(err *pgconn.PgError) bool {
	return err.Severity == "FATAL" || err.Severity == "PANIC" || err.Code == "40003" || err.Code == "08007"
}

// inSavepoint runs fn between savepoint and release. The name may be the same at every depth: the
// newest one counts.
func inSavepoint(ctx context.Context, tx pgx.Tx, fn func(ctx context.Context, tx pgx.Tx) error) (err error) {
	if _, err := tx.Exec(ctx, "savepoint postbus"); err != nil {
		return fmt.Errorf("pg: savepoint: %w", err)
	}
	finished := false
	defer func() {
		if finished {
			return
		}
		if rollbackErr := undo(ctx, tx); rollbackErr != nil && err != nil {
			err = errors.Join(err, rollbackErr)
		}
	}()
	if err := fn(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "release savepoint postbus"); err != nil {
		return fmt.Errorf("pg: release the savepoint: %w", err)
	}
	finished = true
	return nil
}

// undo rolls back to the savepoint and drops it: it would stay for the rest of the transaction.
func undo(ctx context.Context, tx pgx.Tx) error {
	ctx, cancel := outliving(ctx)
	defer cancel()
	if _, err := tx.Exec(ctx, "rollback to savepoint postbus; release savepoint postbus"); err != nil {
		return fmt.Errorf("pg: roll back to the savepoint: %w", err)
	}
	return nil
}

// outliving returns a context for cleaning up, which goes on when ctx has ended.
func outliving(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), rollbackWithin)
}
