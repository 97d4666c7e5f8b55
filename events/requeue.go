package events

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/pg"
)

// Requeue puts a poisoned event back in line with no failures counted; its last error stays to be read. An event that is
// not there answers ErrNotFound, one that is not poisoned ErrNotPoisoned.
func (b *Bus) Requeue(ctx context.Context, id string) error {
	if _, err := b.Get(ctx, id); err != nil {
		return err
	}
	return pg.InTx(ctx, b.pool, func(ctx context.Context, tx pgx.Tx) error {
		_, err := queries(tx).RequeueEvent(ctx, eventsql.RequeueEventParams{ID: id})
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("event %s: %w", id, ErrNotPoisoned)
		}
		if err != nil {
			return fmt.Errorf("requeue event %s: %w", id, err)
		}
		return queries(tx).NotifyEvents(ctx)
	})
}
