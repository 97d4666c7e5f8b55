package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/measuresql"
	"github.com/postbus/postbus/pg"
)

const (
	// flushMost is how many rows one statement adds to.
	flushMost = 1000
	// flushTimeout bounds a flush.
	flushTimeout = 5 * time.Second
	// pruneMost is how many rows one statement removes.
	pruneMost = 1000
)

// flush adds the counts to the table. What is under way is not cut off by the end of ctx: whether it was committed would not be known.
func (m *Measures) flush(ctx context.Context) error {
	all, lost := m.cells.take()
	if lost > 0 {
		m.cfg.Log.WarnContext(ctx, "counts were lost to stats.series: too many waited for the database", "counts", lost)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	for len(all) > 0 {
		n := min(len(all), flushMost)
		if err := m.addRows(ctx, all[:n]); err != nil {
			m.cells.putBack(all)
			return fmt.Errorf("add %d counts to the statistics: %w", len(all), err)
		}
		all = all[n:]
	}
	return nil
}

func (m *Measures) addRows(ctx context.Context, rows []entry) error {
	var p measuresql.AddStatsParams
	for _, row := range rows {
		p.Series = append(p.Series, names[row.series])
		p.Labels = append(p.Labels, row.label)
		p.Minutes = append(p.Minutes, time.Unix(row.minute*60, 0).UTC())
		p.Ns = append(p.Ns, row.n)
		p.SumsMs = append(p.SumsMs, row.SumMS)
		p.Counts = append(p.Counts, row.Buckets[:]...)
	}
	return pg.InTx(ctx, m.pool, func(ctx context.Context, tx pgx.Tx) error {
		return measuresql.New(tx).AddStats(ctx, p)
	})
}

// Prune removes minutes older than 30 days, in small batches. One process at a time is enough.
func (m *Measures) Prune(ctx context.Context) error {
	q := measuresql.New(m.pool)
	for at := (measuresql.NextStatsPairParams{}); ; {
		pair, err := q.NextStatsPair(ctx, at)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		for n := int64(pruneMost); err == nil && n == pruneMost; {
			n, err = q.PruneStats(ctx, measuresql.PruneStatsParams{
				Series: pair.Series, Label: pair.Label, KeepSeconds: keep.Seconds(), Most: pruneMost,
			})
		}
		if err != nil {
			return fmt.Errorf("prune the statistics: %w", err)
		}
		at = measuresql.NextStatsPairParams(pair)
	}
}
