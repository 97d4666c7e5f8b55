package events

import (
	"context"
	"fmt"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
)

// RetireSubscription removes a subscription that no living instance declares, before its grace has passed.
func (b *Bus) RetireSubscription(ctx context.Context, name string) error {
	n, err := queries(b.pool).RetireSubscription(ctx, eventsql.RetireSubscriptionParams{
		Name: name, LivingSeconds: together.Seconds(),
	})
	return retired("subscription", name, n, err)
}

// RetireType removes an event type that no living instance declares. Recording it is refused from then on.
func (b *Bus) RetireType(ctx context.Context, name string) error {
	n, err := queries(b.pool).RetireType(ctx, eventsql.RetireTypeParams{Name: name, LivingSeconds: together.Seconds()})
	return retired("event type", name, n, err)
}

func retired(what, name string, n int64, err error) error {
	if err != nil {
		return fmt.Errorf("retire %s %q: %w", what, name, err)
	}
	if n == 0 {
		return fmt.Errorf("retire %s %q: %w, or an instance that was seen in the last %s declares it: stop that first",
			what, name, ErrNotFound, together)
	}
	return nil
}
