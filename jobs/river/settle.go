package river

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/internal/measure"
)

const (
	receiptGap, receiptMost = 5 * time.Millisecond, 100
	bulkGap, bulkMost       = 50 * time.Millisecond, 500

	settleTimeout  = 10 * time.Second
	stateAvailable = "available"
	stateWaiting   = "waiting" // of the filter: available, but waits for its next attempt
)

// settler records how runs ended: those that somebody waits for in small groups at once, the others in larger ones. No
// outcome is dropped while the database is away.
type settler struct {
	store    store
	flights  *flights
	waker    *waker
	log      *slog.Logger
	measures *measure.Measures // nil outside a Runtime
	receipts *lane
	bulk     *lane
}

func newSettler(store store, flights *flights, waker *waker, log *slog.Logger) *settler {
	s := &settler{store: store, flights: flights, waker: waker, log: log}
	s.receipts = newLane("receipts", receiptGap, receiptMost, s.write, log)
	s.bulk = newLane("outcomes", bulkGap, bulkMost, s.write, log)
	return s
}

func (s *settler) add(o outcome) {
	if o.receipt {
		s.receipts.add(o.storable())
		return
	}
	s.bulk.add(o.storable())
}

func (s *settler) start(ctx context.Context) {
	s.receipts.ticker.Start(ctx)
	s.bulk.ticker.Start(ctx)
}

// stop records what is left, as long as ctx lets it.
func (s *settler) stop(ctx context.Context) error {
	return errors.Join(s.receipts.drain(ctx), s.bulk.drain(ctx))
}

// write records a batch in one statement. An outcome that the database refuses for what is in it is found by halving and
// recorded without its text, so that it costs only itself.
func (s *settler) write(ctx context.Context, batch []outcome) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	rows, err := ask(ctx, s.store, (*riversql.Queries).SettleJobs, settleParams(batch))
	switch {
	case err == nil:
		s.wrote(ctx, batch, rows)
		return nil
	case !refused(err):
		return fmt.Errorf("record %d outcomes: %w", len(batch), err)
	case len(batch) > 1:
		half := len(batch) / 2
		return errors.Join(s.write(ctx, batch[:half]), s.write(ctx, batch[half:]))
	}
	plain := batch[0]
	plain.err, plain.trace, plain.result = "the outcome could not be stored", "", ""
	rows, again := ask(ctx, s.store, (*riversql.Queries).SettleJobs, settleParams([]outcome{plain}))
	if again != nil && !refused(again) {
		return again
	}
	s.log.ErrorContext(ctx, "the database refused an outcome", "job", plain.id, "verdict", plain.verdict, "error", err, "again", again)
	s.wrote(ctx, batch, rows) // where it was refused again, the reaper gives the job back
	return nil
}

// wrote forgets the runs and plans the next look at those that run again soon.
func (s *settler) wrote(ctx context.Context, batch []outcome, rows []riversql.SettleJobsRow) {
	keys := make([]runKey, len(batch))
	for i, o := range batch {
		keys[i] = o.runKey
	}
	s.flights.settled(keys)
	s.tell(batch, rows)
	now := time.Now()
	for _, row := range rows {
		if row.State == stateAvailable {
			s.waker.at(row.Queue, now.Add(time.Duration(row.DueInUs)*time.Microsecond+time.Millisecond))
		}
	}
	if len(rows) < len(batch) {
		s.log.InfoContext(ctx, "runs had been taken back before they ended", "runs", len(batch)-len(rows))
	}
}

// refused reports whether the database will never take the statement as it is: bad data, a broken constraint, too large.
func refused(err error) bool {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || len(pgErr.Code) != 5 {
		return false
	}
	switch pgErr.Code[:2] {
	case "22", "23", "54":
		return true
	}
	return false
}
