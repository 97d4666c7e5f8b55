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

// prune removes events that were fanned longer than the retention ago and have no unfinished job. Un-fanned and poisoned
// events stay, whatever their age. Small batches that skip locked rows never stand in a writer's way.
func (b *Bus) prune(ctx context.Context) error {
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
	return pg.InTx(ctx, b.pool, func(ctx context.Context, tx pgx.Tx) error {
		done, err := b.settled(ctx, tx, rows)
		if err != nil || len(done) == 0 {
			return err
		}
		_, err = queries(tx).DeleteEvents(ctx, eventsql.DeleteEventsParams{Ids: done})
		return err
	})
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
	unfinished, err := b.runtime.Inspector().With(tx).Unfinished(ctx, ids)
	if err != nil {
		return nil, err
	}
	busy := make(map[jobs.JobID]bool, len(unfinished))
	for _, id := range unfinished {
		busy[id] = true
	}
	var done []string
	for i, row := range rows {
		if !anyBusy(fanouts[i], busy) {
			done = append(done, row.ID)
		}
	}
	return done, nil
}

func anyBusy(fanout map[string]jobs.JobID, busy map[jobs.JobID]bool) bool {
	for _, id := range fanout {
		if busy[id] {
			return true
		}
	}
	return false
}
