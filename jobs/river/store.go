package river

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/pg"
)

// store is where statements that write go: through a transaction of the caller's, or through the pool in READ COMMITTED.
// A single statement runs in the database's default isolation; where that is stricter, what two processes do at once would
// fail with serialization errors, and such a statement gets a transaction of its own.
type store struct {
	pool   *pgxpool.Pool
	strict *strictness // of the database
	tx     pgx.Tx      // nil: the pool
}

func newStore(pool *pgxpool.Pool) store { return store{pool: pool, strict: &strictness{}} }

// within answers the store that writes through tx.
func (s store) within(tx pgx.Tx) store {
	s.tx = tx
	return s
}

// strictness is whether the database's default isolation is stricter than READ COMMITTED, once that is known.
type strictness struct{ answer atomic.Int32 }

const (
	unknown = iota
	relaxed
	strict
)

func (s *strictness) is(ctx context.Context, pool *pgxpool.Pool) (bool, error) {
	if answer := s.answer.Load(); answer != unknown {
		return answer == strict, nil
	}
	isolation, err := riversql.New(pool).DefaultIsolation(ctx)
	if err != nil {
		return false, fmt.Errorf("ask for the database's isolation: %w", err)
	}
	answer := int32(relaxed)
	if isolation != "read committed" && isolation != "read uncommitted" { // the same for Postgres
		answer = strict
	}
	s.answer.Store(answer)
	return answer == strict, nil
}

// do calls fn with a place for one statement that writes.
func (s store) do(ctx context.Context, fn func(ctx context.Context, db pg.DBTX) error) error {
	if s.tx != nil {
		return fn(ctx, s.tx)
	}
	strict, err := s.strict.is(ctx, s.pool)
	if err != nil {
		return err
	}
	if !strict {
		return fn(ctx, s.pool)
	}
	return pg.InShortTx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error { return fn(ctx, tx) })
}

// ask runs one query that writes. It is planned with its values at hand: a plan that was made while the tables were empty
// is kept for a minute or more, and joins them row by row.
func ask[P, R any](ctx context.Context, s store, query func(*riversql.Queries, context.Context, P) (R, error), params P) (R, error) {
	var answer R
	err := s.do(ctx, func(ctx context.Context, db pg.DBTX) (err error) {
		answer, err = query(riversql.New(pg.Planned{DBTX: db}), ctx, params)
		return err
	})
	return answer, err
}
