package webhooks

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

// deed is what an operation does while it holds its endpoint's row.
type deed func(ctx context.Context, tx pgx.Tx, row webhooksql.PostbusWebhookEndpoint) error

// act does it in a transaction that holds the endpoint's row against lanes and other acts: what is in flight and what waits
// stands still. Fan-outs go on, those to ordered endpoints excepted.
func (s *Service) act(ctx context.Context, endpointID string, do deed) error {
	return s.actUnder(ctx, endpointID, do, func(ctx context.Context, tx pgx.Tx) (webhooksql.PostbusWebhookEndpoint, error) {
		return queries(tx).LockEndpoint(ctx, webhooksql.LockEndpointParams{ID: endpointID})
	})
}

// actAlone is act for what fan-outs must not pass by: they wait, too, and go by the change. It waits for a moment without a
// fan-out to the endpoint, under a constant stream of them for seconds.
func (s *Service) actAlone(ctx context.Context, endpointID string, do deed) error {
	return s.actUnder(ctx, endpointID, do, func(ctx context.Context, tx pgx.Tx) (webhooksql.PostbusWebhookEndpoint, error) {
		return queries(tx).LockEndpointAlone(ctx, webhooksql.LockEndpointAloneParams{ID: endpointID})
	})
}

func (s *Service) actUnder(
	ctx context.Context, endpointID string, do deed,
	lock func(ctx context.Context, tx pgx.Tx) (webhooksql.PostbusWebhookEndpoint, error),
) error {
	if !isUUID(endpointID) {
		return noEndpoint(endpointID)
	}
	return s.within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		row, err := lock(ctx, tx)
		if errors.Is(err, pgx.ErrNoRows) {
			return noEndpoint(endpointID)
		}
		if err != nil {
			return err
		}
		return do(ctx, tx, row)
	})
}

// admitDue opens lanes for what the endpoint has due. A service that is bound to no runtime leaves that to the poll of one
// that is.
func (s *Service) admitDue(ctx context.Context, tx pgx.Tx, endpointID string) error {
	if s.jobs == nil {
		return nil
	}
	rows, err := queries(tx).CountDue(ctx, webhooksql.CountDueParams{EndpointIds: []string{endpointID}})
	if err != nil || len(rows) == 0 {
		return err
	}
	return s.admit(ctx, tx, map[string]int{endpointID: int(rows[0].Due)})
}
