package webhooks

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

// maxBulk is how many deliveries a call changes at most.
const maxBulk = 10_000

// Redeliver sends a delivery again, from its first attempt, whatever became of it. One that waits for its next attempt is
// sent now; one in flight is left alone. It is refused where nothing could be sent: the endpoint is deleted or disabled, the
// event pruned, or its type internal meanwhile.
func (s *Service) Redeliver(ctx context.Context, id string) (Delivery, error) {
	err := s.actOn(ctx, id, func(ctx context.Context, tx pgx.Tx, at webhooksql.PostbusWebhookEndpoint, d Delivery) error {
		if at.ID == "" {
			return fmt.Errorf("%w: its endpoint %s is deleted: replay the event to another endpoint", ErrConflict, d.EndpointID)
		}
		if err := enabled(at); err != nil {
			return err
		}
		if err := s.sendable(ctx, tx, d); err != nil {
			return err
		}
		n, err := deliveryID(id)
		if err != nil {
			return err
		}
		return s.sendAgain(ctx, tx, at, n)
	})
	if err != nil {
		return Delivery{}, fmt.Errorf("redeliver %s: %w", id, err)
	}
	return s.Delivery(ctx, id)
}

func enabled(at webhooksql.PostbusWebhookEndpoint) error {
	if at.Enabled {
		return nil
	}
	return fmt.Errorf("%w: endpoint %s is disabled (%s): enable it first", ErrConflict, at.ID, deref(at.DisabledReason))
}

// sendable keeps retention from the event, or says why it cannot be sent.
func (s *Service) sendable(ctx context.Context, tx pgx.Tx, d Delivery) error {
	_, err := s.bus.Hold(ctx, tx, d.EventID)
	if errors.Is(err, events.ErrNotFound) {
		return fmt.Errorf("%w: its event %s is pruned, there is nothing to send: record it anew", ErrConflict, d.EventID)
	}
	if err != nil || d.Origin == FromTest {
		return err
	}
	exposed, err := queries(tx).TypeExposed(ctx, webhooksql.TypeExposedParams{Name: d.EventType})
	if err == nil && !exposed {
		return fmt.Errorf("%w: type %s is internal by now: declare it with the exposure %q first", ErrConflict, d.EventType, events.Webhook)
	}
	return err
}

// sendAgain looks at the delivery once more, under its row's lock: the event had to be held before it.
func (s *Service) sendAgain(ctx context.Context, tx pgx.Tx, at webhooksql.PostbusWebhookEndpoint, id int64) error {
	row, err := queries(tx).LockDelivery(ctx, webhooksql.LockDeliveryParams{ID: id})
	switch {
	case err != nil:
		return err
	case row.InFlight:
		return nil
	case row.PostbusWebhookDelivery.State != string(Pending):
		_, err := s.putBack(ctx, tx, at, []int64{id})
		return err
	}
	if err := queries(tx).SendNow(ctx, webhooksql.SendNowParams{ID: id}); err != nil {
		return err
	}
	return s.admitDue(ctx, tx, at.ID)
}

// putBack makes settled deliveries pending again. The caller holds the endpoint and the events.
func (s *Service) putBack(ctx context.Context, tx pgx.Tx, at webhooksql.PostbusWebhookEndpoint, ids []int64) (int, error) {
	rows, err := queries(tx).PutBack(ctx, webhooksql.PutBackParams{
		Ids: ids, LifetimeSeconds: s.cfg.Lifetime.Seconds(), Ordered: at.Ordered,
	})
	if err != nil {
		return 0, err
	}
	if at.Ordered {
		lines := make([]string, len(rows))
		for i, row := range rows {
			lines[i] = row.Subject
		}
		if err := s.lineUp(ctx, tx, at.ID, lines); err != nil {
			return 0, err
		}
	}
	return len(rows), s.admitDue(ctx, tx, at.ID)
}

// RedeliverDiscarded sends the oldest discarded deliveries of an endpoint again that nobody has acknowledged and whose event
// is still there. It answers how many, at most limit, which is 1 to 10,000: call it again until it answers 0.
func (s *Service) RedeliverDiscarded(ctx context.Context, endpointID string, limit int) (int, error) {
	if err := checkBulk(limit); err != nil {
		return 0, err
	}
	done := 0
	err := s.act(ctx, endpointID, func(ctx context.Context, tx pgx.Tx, at webhooksql.PostbusWebhookEndpoint) error {
		if err := enabled(at); err != nil {
			return err
		}
		ids, err := queries(tx).DiscardedToPutBack(ctx, webhooksql.DiscardedToPutBackParams{EndpointID: endpointID, Most: int32(limit)})
		if err != nil || len(ids) == 0 {
			return err
		}
		done, err = s.putBack(ctx, tx, at, ids)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("redeliver what endpoint %s discarded: %w", endpointID, err)
	}
	return done, nil
}

func checkBulk(limit int) error {
	if limit < 1 || limit > maxBulk {
		return fmt.Errorf("%w: limit %d; use 1 to %d, and call again until the answer is 0", ErrInvalid, limit, maxBulk)
	}
	return nil
}
