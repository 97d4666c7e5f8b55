package webhooks

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

// SendTest records an event of the type webhook.test, whose subject is the endpoint's id, and sends it to this endpoint and no
// other, whatever its types and scope are. It is refused where the endpoint is disabled.
func (s *Service) SendTest(ctx context.Context, endpointID string) (Delivery, error) {
	var delivery Delivery
	err := s.act(ctx, endpointID, func(ctx context.Context, tx pgx.Tx, at webhooksql.PostbusWebhookEndpoint) error {
		if err := enabled(at); err != nil {
			return err
		}
		id, err := s.recordTest(ctx, tx, at)
		if err != nil {
			return err
		}
		if at.Ordered {
			if err := s.lineUp(ctx, tx, at.ID, []string{at.ID}); err != nil {
				return err
			}
		}
		if err := s.admitDue(ctx, tx, at.ID); err != nil {
			return err
		}
		delivery, err = s.With(tx).Delivery(ctx, strconv.FormatInt(id, 10))
		return err
	})
	if err != nil {
		return Delivery{}, fmt.Errorf("send a test to endpoint %s: %w", endpointID, err)
	}
	return delivery, nil
}

// recordTest writes the event and its delivery, in which the event's subject is the endpoint.
func (s *Service) recordTest(ctx context.Context, tx pgx.Tx, at webhooksql.PostbusWebhookEndpoint) (int64, error) {
	data := struct {
		Test       bool   `json:"test"`
		EndpointID string `json:"endpoint_id"`
	}{true, at.ID}
	eventID, err := s.bus.RecordReturning(ctx, tx, at.OwnerID, Test, at.ID, data)
	if err != nil {
		return 0, err
	}
	event, err := s.bus.Read(ctx, tx, eventID)
	if err != nil {
		return 0, err
	}
	return queries(tx).InsertTest(ctx, webhooksql.InsertTestParams{
		EndpointID: at.ID, EventID: event.ID, EventSeq: event.Seq, EventType: event.Type, OwnerID: event.OwnerID,
		Subject: event.Subject, OccurredAt: event.OccurredAt, Ordered: at.Ordered, LifetimeSeconds: s.cfg.Lifetime.Seconds(),
	})
}
