package pg_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/faultproxy"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/pg"
)

var errNo = errors.New("no")

func insert(ctx context.Context, db pg.DBTX, id int) error {
	_, err := db.Exec(ctx, "insert into notes values ($1)", id)
	return err
}

// expect checks what is committed and that no connection is left in the hands of a transaction.
func expect(t *testing.T, pool *pgxpool.Pool, want ...int) {
	t.Helper()
	if diff := cmp.Diff(append([]int{}, want...), ids(t, pool)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if n := pool.Stat().AcquiredConns(); n != 0 {
		t.Errorf("%d connections were not given back", n)
	}
}

func TestInTxCommits(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error { return insert(ctx, tx, 1) })
	if err != nil {
		t.Fatal(err)
	}
	expect(t, pool, 1)
}

func TestInTxRollsBackOnAnError(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		return errors.Join(insert(ctx, tx, 1), errNo)
	})
	if !errors.Is(err, errNo) {
		t.Errorf("error = %v, want %v", err, errNo)
	}
	expect(t, pool)
}

func TestInTxRollsBackOnAPanicAndPassesItOn(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	func() {
		defer func() {
			if got := recover(); got != "boom" {
				t.Errorf("panic = %v, want boom", got)
			}
		}()
		_ = pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
			if err := insert(ctx, tx, 1); err != nil {
				t.Error(err)
			}
			panic("boom")
		})
	}()
	expect(t, pool)
}

// The rollback outlives the caller's context: the connection goes back to the pool, and usable.
func TestInTxRollsBackWhenTheContextEnds(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	var before, after uint32
	err := pg.InTx(ctx, pool, func(ctx context.Context, tx pgx.Tx) error {
		before = tx.Conn().PgConn().PID()
		if err := insert(ctx, tx, 1); err != nil {
			return err
		}
		cancel()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
	expect(t, pool)
	if err := pool.QueryRow(t.Context(), "select pg_backend_pid()").Scan(&after); err != nil {
		t.Fatal(err)
	}
	if before != after {
		t.Error("the connection was thrown away for want of a rollback")
	}
}

// With a context that has ended nothing is sent, so the outcome is known: not committed.
func TestInTxDoesNotCommitAfterTheContextEnds(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := pg.InTx(ctx, pool, func(ctx context.Context, tx pgx.Tx) error {
		defer cancel()
		return insert(ctx, tx, 1)
	})
	if !errors.Is(err, context.Canceled) || errors.Is(err, pg.ErrCommitUnknown) {
		t.Errorf("error = %v, want %v and a known outcome", err, context.Canceled)
	}
	expect(t, pool)
}

// When the answer to COMMIT never comes, the caller is told that nobody knows.
func TestInTxTellsAnUnknownOutcomeApart(t *testing.T) {
	t.Parallel()
	proxy, address := faultproxy.ForURL(t, testdb.URL(t))
	pool, err := pgxpool.New(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var leave loop.Runner
	defer leave.Stop()
	err = pg.InTx(ctx, pool, func(ctx context.Context, tx pgx.Tx) error {
		defer proxy.BlackHole()
		leave.Start(ctx, func(ctx context.Context) {
			for !proxy.HoldsBack() { // until COMMIT is on its way
				_ = loop.Sleep(ctx, time.Millisecond)
			}
			cancel()
		})
		return insert(ctx, tx, 1)
	})
	if !errors.Is(err, pg.ErrCommitUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, pg.ErrCommitUnknown)
	}
	proxy.Cut()
}

// When the connection breaks while COMMIT is under way nobody knows either. The driver says "conn closed" then, as it does where
// nothing was sent.
func TestInTxDoesNotKnowWhereTheConnectionBroke(t *testing.T) {
	t.Parallel()
	proxy, address := faultproxy.ForURL(t, testdb.URL(t))
	pool, err := pgxpool.New(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var breaks loop.Runner
	defer breaks.Stop()
	err = pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		defer proxy.BlackHole()
		breaks.Start(ctx, func(ctx context.Context) {
			for !proxy.HoldsBack() { // until COMMIT is on its way
				_ = loop.Sleep(ctx, time.Millisecond)
			}
			proxy.Cut()
		})
		return insert(ctx, tx, 1)
	})
	if !errors.Is(err, pg.ErrCommitUnknown) {
		t.Errorf("error = %v, want %v", err, pg.ErrCommitUnknown)
	}
	proxy.Heal()
	err = pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		return tx.Conn().Close(ctx)
	})
	if err == nil || errors.Is(err, pg.ErrCommitUnknown) {
		t.Errorf("error = %v, where the connection was closed before COMMIT: want one with a known outcome", err)
	}
}

// Explicit read committed, read write: the database's defaults do not matter.
func TestInTxIsReadCommittedWhateverTheDefault(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	for _, setting := range []string{"default_transaction_isolation = 'repeatable read'", "default_transaction_read_only = on"} {
		if _, err := pool.Exec(t.Context(), "do $$ begin execute format('alter database %I set "+
			strings.ReplaceAll(setting, "'", "''")+"', current_database()); end $$"); err != nil {
			t.Fatal(err)
		}
		pool.Reset()
	}
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		var level string
		if err := tx.QueryRow(ctx, "select current_setting('transaction_isolation')").Scan(&level); err != nil {
			return err
		}
		if level != "read committed" {
			t.Errorf("isolation = %s, want read committed", level)
		}
		return insert(ctx, tx, 1)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestInTxSaysWhatAFailedCommitMeans(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	tests := map[string]struct {
		fn   func(ctx context.Context, tx pgx.Tx) error
		want string
		row  bool
	}{
		"a deferred constraint": {
			func(ctx context.Context, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "insert into notes values (1, 99)")
				return err
			}, "notes_parent_fkey", true,
		},
		"an error swallowed": {
			func(ctx context.Context, tx pgx.Tx) error { _, _ = tx.Exec(ctx, "select 1/0"); return nil },
			"its error was not returned", false,
		},
		"ended by the function": {
			func(ctx context.Context, tx pgx.Tx) error { return tx.Rollback(ctx) },
			"ended the transaction itself", false,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := pg.InTx(t.Context(), pool, test.fn)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want one with %q", err, test.want)
			}
			if errors.Is(err, pg.ErrCommitUnknown) {
				t.Errorf("the outcome is known, but the error says it is not: %v", err)
			}
			if got := pg.IsRowFault(err); got != test.row {
				t.Errorf("IsRowFault = %t, want %t: %v", got, test.row, err)
			}
			expect(t, pool)
		})
	}
}

func TestInSnapshotSeesOneState(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	count := func(ctx context.Context, tx pgx.Tx) (n int) {
		t.Helper()
		if err := tx.QueryRow(ctx, "select count(*) from notes").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	err := pg.InSnapshot(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		before := count(ctx, tx)
		if err := insert(ctx, pool, 1); err != nil {
			return err
		}
		if after := count(ctx, tx); after != before {
			t.Errorf("%d notes, then %d: a snapshot sees what was committed after it", before, after)
		}
		return insert(ctx, tx, 2)
	})
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != "25006" { // read_only_sql_transaction
		t.Errorf("a write in a snapshot was answered with %v", err)
	}
	expect(t, pool, 1)
}

// A short transaction is one that the server ends when it hears nothing for seconds; others, and what the connection does next, have the
// database's own setting. Its isolation and access are those of InTx.
func TestShortTxIsBounded(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	settings := func(begin func(context.Context, *pgxpool.Pool, func(context.Context, pgx.Tx) error) error) (got [3]string) {
		t.Helper()
		err := begin(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
			return tx.QueryRow(ctx, `select current_setting('idle_in_transaction_session_timeout'),
				current_setting('transaction_isolation'), current_setting('transaction_read_only')`).Scan(&got[0], &got[1], &got[2])
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for range 3 {
		if got, want := settings(pg.InShortTx), [3]string{"10s", "read committed", "off"}; got != want {
			t.Errorf("a short transaction has %v, want %v", got, want)
		}
		if got, want := settings(pg.InTx), [3]string{"0", "read committed", "off"}; got != want {
			t.Errorf("another has %v, want %v", got, want)
		}
	}
	err := pg.InShortTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error { return errors.Join(insert(ctx, tx, 1), errNo) })
	if !errors.Is(err, errNo) {
		t.Errorf("error = %v, want %v", err, errNo)
	}
	expect(t, pool)
}
