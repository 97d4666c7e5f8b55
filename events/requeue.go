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
	return pg.InTx(ctx, b.pool, func(ctx context.Context, tx pgx.Tx) error { return b.RequeueIn(ctx, tx, id) })
}

// RequeueIn does what Requeue does when tx commits, so that an act and its audit row commit together.
func (b *Bus) RequeueIn(ctx context.Context, tx pgx.Tx, id string) error {
	if _, err := b.Read(ctx, tx, id); err != nil {
		return err
	}
	_, err := queries(tx).RequeueEvent(ctx, eventsql.RequeueEventParams{ID: id})
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("event %s: %w", id, ErrNotPoisoned)
	}
	if err != nil {
		return fmt.Errorf("requeue event %s: %w", id, err)
	}
	return queries(tx).NotifyEvents(ctx)
}
