package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

// discardedKept is how long a discarded delivery that nobody has acknowledged keeps its event.
const discardedKept = 30 * 24 * time.Hour

// Holding answers those of the events that a delivery still needs: a pending one, or one that was discarded within the last
// 30 days and not acknowledged. It makes Service an events.Retainer.
func (s *Service) Holding(ctx context.Context, tx pgx.Tx, eventIDs []string) ([]string, error) {
	held, err := queries(tx).HeldEvents(ctx, webhooksql.HeldEventsParams{
		EventIds: eventIDs, GraceSeconds: discardedKept.Seconds(),
	})
	if err != nil {
		return nil, fmt.Errorf("webhooks: look for deliveries that need their event: %w", err)
	}
	return held, nil
}

// Pruned removes the events' deliveries, attempts and fan-outs.
func (s *Service) Pruned(ctx context.Context, tx pgx.Tx, eventIDs []string) error {
	q := queries(tx)
	err := q.DeleteAttemptsOf(ctx, webhooksql.DeleteAttemptsOfParams{EventIds: eventIDs})
	if err == nil {
		err = q.DeleteDeliveriesOf(ctx, webhooksql.DeleteDeliveriesOfParams{EventIds: eventIDs})
	}
	if err == nil {
		err = q.DeleteFanoutsOf(ctx, webhooksql.DeleteFanoutsOfParams{EventIds: eventIDs})
	}
	if err != nil {
		return fmt.Errorf("webhooks: remove the deliveries of pruned events: %w", err)
	}
	return nil
}

const pruneBatch = 1000

// pruneAttempts removes attempts older than Config.KeepAttempts. Its batches are transactions of their own and leave out what
// somebody else holds.
func (s *Service) pruneAttempts(ctx context.Context) error {
	at := webhooksql.PruneAttemptsParams{KeepSeconds: s.cfg.KeepAttempts.Seconds(), BatchSize: pruneBatch}
	for {
		row, err := queries(s.db()).PruneAttempts(ctx, at)
		if err != nil {
			return fmt.Errorf("webhooks: prune attempts: %w", err)
		}
		if row.Old == 0 {
			return nil
		}
		at.AfterDelivery, at.AfterN = row.LastDelivery, row.LastN
	}
}
