package webhooks

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
	"github.com/postbus/postbus/pg"
)

// fanOut handles webhook.fanout: one delivery for each endpoint of the event's owner that takes it, in one transaction with
// the mark that it was done. A second run adds nothing.
func (s *Service) fanOut(ctx context.Context, event events.Event) error {
	exposed, err := queries(s.pool).TypeExposed(ctx, webhooksql.TypeExposedParams{Name: event.Type})
	if err != nil {
		return fmt.Errorf("fan out event %s: %w", event.ID, err)
	}
	var ids []string
	if exposed {
		if ids, err = s.takers(ctx, event); err != nil {
			return fmt.Errorf("fan out event %s: %w", event.ID, err)
		}
	}
	err = pg.InTx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		return s.fanOutTo(ctx, tx, event, ids)
	})
	if err != nil {
		return fmt.Errorf("fan out event %s to %d endpoints: %w", event.ID, len(ids), err)
	}
	return nil
}

// takers are the owner's endpoints that take the event. Nothing is held while the application's filter is asked.
func (s *Service) takers(ctx context.Context, event events.Event) ([]string, error) {
	rows, err := queries(s.pool).EndpointsOfOwner(ctx, webhooksql.EndpointsOfOwnerParams{OwnerID: event.OwnerID})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, row := range rows {
		row.Headers = nil // nobody asks for them here
		endpoint, err := s.endpointOf(row)
		if err != nil {
			return nil, err
		}
		if endpoint.takes(event) && (s.cfg.Filter == nil || s.cfg.Filter(ctx, endpoint, event)) {
			ids = append(ids, endpoint.ID)
		}
	}
	return ids, nil
}

func (s *Service) fanOutTo(ctx context.Context, tx pgx.Tx, event events.Event, ids []string) error {
	q := queries(tx)
	var held []webhooksql.HoldEndpointsRow
	if len(ids) > 0 {
		var err error
		if held, err = q.HoldEndpoints(ctx, webhooksql.HoldEndpointsParams{Ids: ids}); err != nil {
			return err
		}
	}
	n, err := q.MarkFanout(ctx, webhooksql.MarkFanoutParams{
		EventID: event.ID, OwnerID: event.OwnerID, OccurredAt: event.OccurredAt, Matched: int32(len(held)),
	})
	if err != nil || n == 0 || len(held) == 0 {
		return err
	}
	_, err = s.addDeliveries(ctx, tx, event, FromFanout, held)
	return err
}

// addDeliveries makes the event's deliveries for endpoints that the transaction holds, and opens their lanes. It answers how
// many are new.
func (s *Service) addDeliveries(ctx context.Context, tx pgx.Tx, event events.Event, origin Origin, to []webhooksql.HoldEndpointsRow) (int, error) {
	p := webhooksql.InsertDeliveriesParams{
		EventID: event.ID, EventSeq: event.Seq, EventType: event.Type, OwnerID: event.OwnerID, Subject: event.Subject,
		OccurredAt: event.OccurredAt, Origin: string(origin), LifetimeSeconds: s.cfg.Lifetime.Seconds(),
	}
	var ordered []string
	waits := map[string]bool{}
	for _, e := range to {
		reason, wait := "", 0.0
		switch {
		case !e.Enabled:
			reason = disabled(e.DisabledReason)
		case e.Failing && origin != FromTest:
			wait, waits[e.ID] = s.cfg.FailingWait.Seconds(), true
		}
		if e.Ordered && e.Enabled {
			ordered = append(ordered, e.ID)
		}
		p.EndpointIds, p.Reasons = append(p.EndpointIds, e.ID), append(p.Reasons, reason)
		p.WaitsSeconds, p.Ordereds = append(p.WaitsSeconds, wait), append(p.Ordereds, e.Ordered)
	}
	if len(ordered) > 0 {
		if err := queries(tx).HoldOrderedEndpoints(ctx, webhooksql.HoldOrderedEndpointsParams{Ids: ordered}); err != nil {
			return 0, err
		}
	}
	made, err := queries(tx).InsertDeliveries(ctx, p)
	if err != nil {
		return 0, err
	}
	for _, id := range ordered {
		if err := s.lineUp(ctx, tx, id, []string{event.Subject}); err != nil {
			return 0, err
		}
	}
	due := map[string]int{}
	for _, d := range made {
		if d.State == string(Pending) && !waits[d.EndpointID] {
			due[d.EndpointID]++
		}
	}
	return len(made), s.admit(ctx, tx, due)
}

// disabled is the reason of what met a disabled endpoint.
func disabled(why *string) string {
	if why == nil || *why == "" {
		return "endpoint disabled"
	}
	return "endpoint disabled: " + *why
}

// lineUp lets the first pending delivery of each of the endpoint's lines go and holds back the others. The caller holds the
// endpoint's row, stronger than for key share.
func (s *Service) lineUp(ctx context.Context, tx pgx.Tx, endpointID string, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	ids := make([]string, len(lines))
	for i := range lines {
		ids[i] = endpointID
	}
	return queries(tx).LineUp(ctx, webhooksql.LineUpParams{EndpointIds: ids, Lines: lines})
}
