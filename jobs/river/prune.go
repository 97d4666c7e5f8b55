package river

import (
	"context"
	"fmt"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
)

const (
	// pruneMost is how many jobs of a state one statement deletes, pruneRounds how many statements follow each other
	// before the leader rests (30 s).
	pruneMost   = 2000
	pruneRounds = 100
)

// pruner deletes what has been kept for long enough. River's leader calls it.
type pruner struct {
	store store
	cfg   Config
}

func (p *pruner) prune(ctx context.Context) (int, error) {
	total := 0
	for range pruneRounds {
		n, err := ask(ctx, p.store, (*riversql.Queries).PruneJobs, riversql.PruneJobsParams{
			CompletedUs: p.cfg.CompletedRetention.Microseconds(),
			CancelledUs: p.cfg.CancelledRetention.Microseconds(),
			DiscardedUs: p.cfg.DiscardedRetention.Microseconds(),
			Most:        pruneMost,
		})
		if err != nil {
			return 0, fmt.Errorf("prune jobs: %w", err)
		}
		if total += int(n); n == 0 {
			break
		}
	}
	return total, nil
}
