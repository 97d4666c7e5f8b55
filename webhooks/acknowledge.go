package webhooks

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

// onDelivery is what an operation does to a delivery while it holds the endpoint's row; at is zero where that is deleted.
type onDelivery func(ctx context.Context, tx pgx.Tx, at webhooksql.PostbusWebhookEndpoint, d Delivery) error

// actOn holds the delivery's endpoint, where there is one, and reads the delivery.
func (s *Service) actOn(ctx context.Context, id string, do onDelivery) error {
	n, err := deliveryID(id)
	if err != nil {
		return err
	}
	return s.within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		d, err := s.With(tx).Delivery(ctx, id)
		if err != nil {
			return err
		}
		at, err := queries(tx).LockEndpoint(ctx, webhooksql.LockEndpointParams{ID: d.EndpointID})
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		row, err := queries(tx).DeliveryByID(ctx, webhooksql.DeliveryByIDParams{ID: n}) // it may have waited for the endpoint
		if errors.Is(err, pgx.ErrNoRows) {
			return noDelivery(id)
		}
		if err != nil {
			return err
		}
		return do(ctx, tx, at, deliveryOf(row.PostbusWebhookDelivery, row.InFlight))
	})
}

// Acknowledge takes note of a discarded delivery: it raises no alert any more and no longer keeps its event. Twice is fine.
func (s *Service) Acknowledge(ctx context.Context, id string) error {
	err := s.actOn(ctx, id, func(ctx context.Context, tx pgx.Tx, _ webhooksql.PostbusWebhookEndpoint, d Delivery) error {
		if d.State != Discarded {
			return fmt.Errorf("%w: it is %s, and only a discarded delivery is acknowledged: cancel a pending one", ErrConflict, d.State)
		}
		n, err := deliveryID(id)
		if err != nil {
			return err
		}
		_, err = queries(tx).AcknowledgeDelivery(ctx, webhooksql.AcknowledgeDeliveryParams{ID: n})
		return err
	})
	if err != nil {
		return fmt.Errorf("acknowledge delivery %s: %w", id, err)
	}
	return nil
}

// AcknowledgeAll takes note of the oldest discarded deliveries of an endpoint, which may be deleted. It answers how many, at
// most limit, which is 1 to 10,000: call it again until it answers 0.
func (s *Service) AcknowledgeAll(ctx context.Context, endpointID string, limit int) (int, error) {
	if err := checkBulk(limit); err != nil {
		return 0, err
	}
	if !isUUID(endpointID) {
		return 0, noEndpoint(endpointID)
	}
	n, err := queries(s.db()).AcknowledgeDeliveries(ctx, webhooksql.AcknowledgeDeliveriesParams{
		EndpointID: endpointID, Most: int32(limit),
	})
	if err != nil {
		return 0, fmt.Errorf("acknowledge what endpoint %s discarded: %w", endpointID, err)
	}
	return int(n), nil
}

// Cancel gives up a pending delivery. It counts as acknowledged; Redeliver takes it back.
func (s *Service) Cancel(ctx context.Context, id string) error {
	err := s.actOn(ctx, id, func(ctx context.Context, tx pgx.Tx, at webhooksql.PostbusWebhookEndpoint, d Delivery) error {
		switch {
		case d.State != Pending:
			return fmt.Errorf("%w: it is %s already; only a pending delivery is cancelled", ErrConflict, d.State)
		case d.InFlight:
			return fmt.Errorf("%w: its request is under way; try again in %s, when that has ended", ErrConflict, s.cfg.Timeout+leaseMargin)
		}
		n, err := deliveryID(id)
		if err != nil {
			return err
		}
		if err := queries(tx).CancelDelivery(ctx, webhooksql.CancelDeliveryParams{ID: n}); err != nil || !at.Ordered {
			return err
		}
		if err := s.lineUp(ctx, tx, at.ID, []string{d.Subject}); err != nil {
			return err
		}
		return s.admitDue(ctx, tx, at.ID)
	})
	if err != nil {
		return fmt.Errorf("cancel delivery %s: %w", id, err)
	}
	return nil
}
