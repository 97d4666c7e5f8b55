package events

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

const pruneBatch = 500

// Retainer is a room above that keeps something about events, such as webhook deliveries.
type Retainer interface {
	// Holding answers those of the events that something unfinished still needs; they are kept. Their rows are locked: what
	// means to need an event from now on locks it first, see Bus.Hold, and finds it gone where this came before.
	Holding(ctx context.Context, tx pgx.Tx, eventIDs []string) ([]string, error)
	// Pruned removes what was kept about the events, in the transaction that removes them.
	Pruned(ctx context.Context, tx pgx.Tx, eventIDs []string) error
}

// Retain makes retention ask r, too. It must be called before Start.
func (b *Bus) Retain(r Retainer) { b.retainers = append(b.retainers, r) }

// prune removes events that were fanned longer than the retention ago and that nothing unfinished needs. Un-fanned and poisoned
// events stay, whatever their age. Small batches that skip locked rows never stand in a writer's way. Replays go 30 days after
// their end, alerts as long after they were cleared.
func (b *Bus) prune(ctx context.Context) error {
	if err := queries(b.pool).PruneReplays(ctx, eventsql.PruneReplaysParams{KeepSeconds: replayKept.Seconds()}); err != nil {
		return fmt.Errorf("prune replays: %w", err)
	}
	if err := queries(b.pool).PruneAlerts(ctx, eventsql.PruneAlertsParams{KeepSeconds: alertsKept.Seconds()}); err != nil {
		return fmt.Errorf("prune alerts: %w", err)
	}
	for after := int64(0); ; {
		rows, err := queries(b.pool).RetentionBatch(ctx, eventsql.RetentionBatchParams{
			RetentionSeconds: b.cfg.Retention.Seconds(), AfterSeq: after, BatchSize: pruneBatch,
		})
		if err != nil {
			return fmt.Errorf("prune events: %w", err)
		}
		old := slices.DeleteFunc(slices.Clone(rows), func(r eventsql.RetentionBatchRow) bool { return !r.Old })
		if len(old) == 0 {
			return nil
		}
		if err := b.pruneRows(ctx, old); err != nil {
			return fmt.Errorf("prune events: %w", err)
		}
		// Moving past rows that must stay is safe here: the next hour's walk begins at the front again.
		after = rows[len(rows)-1].Seq
	}
}

func (b *Bus) pruneRows(ctx context.Context, rows []eventsql.RetentionBatchRow) error {
	return pg.InShortTx(ctx, b.pool, func(ctx context.Context, tx pgx.Tx) error {
		locked, err := queries(tx).LockForRetention(ctx, eventsql.LockForRetentionParams{Ids: idsOf(rows)})
		if err != nil || len(locked) == 0 {
			return err
		}
		rows = slices.DeleteFunc(rows, func(r eventsql.RetentionBatchRow) bool { return !slices.Contains(locked, r.ID) })
		done, err := b.settled(ctx, tx, rows)
		if err != nil {
			return err
		}
		if done, err = b.released(ctx, tx, done); err != nil || len(done) == 0 {
			return err
		}
		gone, err := queries(tx).DeleteEvents(ctx, eventsql.DeleteEventsParams{Ids: done})
		if err != nil {
			return err
		}
		for _, r := range b.retainers {
			if err := r.Pruned(ctx, tx, gone); err != nil {
				return err
			}
		}
		return nil
	})
}

func idsOf(rows []eventsql.RetentionBatchRow) []string {
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	return ids
}

// released answers those of the events that no retainer holds.
func (b *Bus) released(ctx context.Context, tx pgx.Tx, ids []string) ([]string, error) {
	for _, r := range b.retainers {
		if len(ids) == 0 {
			return nil, nil
		}
		held, err := r.Holding(ctx, tx, ids)
		if err != nil {
			return nil, err
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(held, id) })
	}
	return ids, nil
}

// settled answers the ids of the rows none of whose jobs is unfinished.
func (b *Bus) settled(ctx context.Context, tx pgx.Tx, rows []eventsql.RetentionBatchRow) ([]string, error) {
	fanouts := make([]map[string]jobs.JobID, len(rows))
	var ids []jobs.JobID
	for i, row := range rows {
		fanout, err := decodeFanout(row.Fanout)
		if err != nil {
			return nil, err
		}
		fanouts[i] = fanout
		for _, id := range fanout {
			ids = append(ids, id)
		}
	}
	busy, err := b.unfinished(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	var done []string
	for i, row := range rows {
		if !anyBusy(fanouts[i], busy) {
			done = append(done, row.ID)
		}
	}
	return done, nil
}

// unfinished answers which of the jobs have not ended.
func (b *Bus) unfinished(ctx context.Context, tx pgx.Tx, ids []jobs.JobID) (map[jobs.JobID]bool, error) {
	unfinished, err := b.runtime.Inspector().With(tx).Unfinished(ctx, ids)
	if err != nil {
		return nil, err
	}
	busy := make(map[jobs.JobID]bool, len(unfinished))
	for _, id := range unfinished {
		busy[id] = true
	}
	return busy, nil
}

func anyBusy(fanout map[string]jobs.JobID, busy map[jobs.JobID]bool) bool {
	for _, id := range fanout {
		if busy[id] {
			return true
		}
	}
	return false
}
