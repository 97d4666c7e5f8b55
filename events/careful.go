package events

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// maxSavepoints bounds the savepoints of one transaction: a backend remembers 64 subtransactions and slows everybody down
// beyond. Finding one bad row among 200 takes at most 16.
const maxSavepoints = 48

// bisect fans out events under a savepoint; where one of them is at fault it halves them until only that one is left, whose
// failure is counted. Rows it cannot try within the savepoints stay unmarked for the next pass.
func (f *fanner) bisect(ctx context.Context, events []claimedEvent) error {
	if f.saves >= maxSavepoints {
		return nil
	}
	f.saves++
	before, made := len(f.marked), f.made
	err := pg.Nested(ctx, f.tx, func(ctx context.Context, tx pgx.Tx) error { return f.fan(ctx, tx, events) })
	if err == nil {
		return nil
	}
	f.endSpans(before, err)
	f.marked, f.seqs, f.fanouts, f.made = f.marked[:before], f.seqs[:before], f.fanouts[:before], made
	if !ownFault(err) {
		return err
	}
	if len(events) == 1 {
		return f.fail(ctx, events[0], err)
	}
	half := len(events) / 2
	if err := f.bisect(ctx, events[:half]); err != nil {
		return err
	}
	return f.bisect(ctx, events[half:])
}

// fail counts a failure on the row, in the transaction that holds its claim: a second connection would wait for it for ever.
func (f *fanner) fail(ctx context.Context, e claimedEvent, cause error) error {
	cfg := f.relay.cfg
	wait := jobs.Exponential(cfg.BackoffBase, 2, cfg.BackoffMax)(int(e.Attempts) + 1)
	err := queries(f.tx).MarkFailed(ctx, eventsql.MarkFailedParams{
		ID: e.ID, Error: cause.Error(), WaitSeconds: wait.Seconds(), MaxFailures: int32(cfg.MaxFailures),
	})
	if err != nil {
		return fmt.Errorf("count the failure of event %s: %w", e.ID, err)
	}
	f.failed++
	f.faulty = append(f.faulty, e)
	if int(e.Attempts)+1 >= cfg.MaxFailures {
		cfg.Log.ErrorContext(ctx, "event poisoned: set aside until it is requeued",
			"event", e.ID, "type", e.Type, "failures", e.Attempts+1, "error", cause)
		return nil
	}
	cfg.Log.WarnContext(ctx, "event failed to fan out", "event", e.ID, "type", e.Type, "failures", e.Attempts+1, "error", cause)
	return nil
}
