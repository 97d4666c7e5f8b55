package webhooks

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

const endpointDeleted = "endpoint deleted"

// Delete removes an endpoint, its secrets and its headers, and discards what waits for it, in one transaction. What is in
// flight ends by itself and is discarded too where it fails. Deliveries and attempts stay on record with their events; the
// discarded ones raise no alert, for nothing can be done about them.
func (s *Service) Delete(ctx context.Context, endpointID string) error {
	err := s.actAlone(ctx, endpointID, func(ctx context.Context, tx pgx.Tx, _ webhooksql.PostbusWebhookEndpoint) error {
		q := queries(tx)
		_, err := q.DiscardWaiting(ctx, webhooksql.DiscardWaitingParams{
			EndpointID: endpointID, Reason: endpointDeleted, Acknowledged: true,
		})
		if err != nil {
			return err
		}
		if err := q.DeleteSecrets(ctx, webhooksql.DeleteSecretsParams{EndpointID: endpointID}); err != nil {
			return err
		}
		if err := q.DropIdleSlots(ctx, webhooksql.DropIdleSlotsParams{EndpointID: endpointID}); err != nil {
			return err
		}
		return q.DeleteEndpoint(ctx, webhooksql.DeleteEndpointParams{ID: endpointID})
	})
	if err != nil {
		return fmt.Errorf("delete endpoint %s: %w", endpointID, err)
	}
	return nil
}
