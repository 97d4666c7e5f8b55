package webhooks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
	"github.com/postbus/postbus/pg"
)

// errLineChanged says that an endpoint became ordered while the event was fanned out.
var errLineChanged = errors.New("an endpoint became ordered meanwhile")

// fanOut handles webhook.fanout: one delivery for each endpoint of the event's owner that takes it, in one transaction with
// the mark that it was done. A second run adds nothing.
func (s *Service) fanOut(ctx context.Context, event events.Event) error {
	for tries := 5; ; tries-- {
		to, err := s.takers(ctx, event)
		if err == nil {
			err = pg.InShortTx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error { return s.fanOutTo(ctx, tx, event, to) })
		}
		if err == nil {
			return nil
		}
		if tries == 0 || !errors.Is(err, errLineChanged) {
			return fmt.Errorf("fan out event %s to %d endpoints: %w", event.ID, len(to.ids), err)
		}
	}
}

// takers are the endpoints that take an event.
type takers struct {
	ids []string
	// ordered says that one of them is.
	ordered bool
}

// takers are the owner's endpoints that take the event. Nothing is held while the application's filter is asked.
func (s *Service) takers(ctx context.Context, event events.Event) (to takers, err error) {
	rows, err := queries(s.pool).EndpointsOfOwner(ctx, webhooksql.EndpointsOfOwnerParams{OwnerID: event.OwnerID, EventType: event.Type})
	if err != nil {
		return to, err
	}
	seen := &candidate{Event: event} // its data is decoded once for all
	for _, row := range rows {
		row.Headers = nil // nobody asks for them here
		endpoint, err := s.endpointOf(row)
		if err != nil {
			return to, err
		}
		if endpoint.takesCandidate(seen) && (s.cfg.Filter == nil || s.cfg.Filter(ctx, endpoint, event)) {
			to.ids = append(to.ids, endpoint.ID)
			to.ordered = to.ordered || endpoint.Ordered
		}
	}
	return to, nil
}

func (s *Service) fanOutTo(ctx context.Context, tx pgx.Tx, event events.Event, to takers) error {
	q := queries(tx)
	held, err := hold(ctx, q, to)
	if err != nil {
		return err
	}
	n, err := q.MarkFanout(ctx, webhooksql.MarkFanoutParams{
		EventID: event.ID, OwnerID: event.OwnerID, OccurredAt: event.OccurredAt, Matched: int32(len(held)),
	})
	if err != nil || n == 0 || len(held) == 0 {
		return err
	}
	return s.addDeliveries(ctx, tx, event, held)
}

// hold holds the endpoints until the transaction's end, ordered ones alone.
func hold(ctx context.Context, q *webhooksql.Queries, to takers) ([]webhooksql.HoldEndpointsRow, error) {
	if len(to.ids) == 0 {
		return nil, nil
	}
	if err := q.PlanOnce(ctx); err != nil {
		return nil, err
	}
	var lined []string
	if to.ordered {
		var err error
		if lined, err = q.HoldOrderedEndpoints(ctx, webhooksql.HoldOrderedEndpointsParams{Ids: to.ids}); err != nil {
			return nil, err
		}
	}
	held, err := q.HoldEndpoints(ctx, webhooksql.HoldEndpointsParams{Ids: to.ids})
	for _, e := range held {
		if e.Ordered && !slices.Contains(lined, e.ID) {
			return nil, errLineChanged // to take its lock now, after others', could close a circle
		}
	}
	return held, err
}

// addDeliveries makes the event's deliveries for endpoints that the transaction holds, and opens their lanes.
func (s *Service) addDeliveries(ctx context.Context, tx pgx.Tx, event events.Event, to []webhooksql.HoldEndpointsRow) error {
	made, err := queries(tx).InsertDeliveries(ctx, s.deliveriesOf(event, to))
	if err != nil {
		return err
	}
	waits := map[string]bool{}
	for _, e := range to {
		waits[e.ID] = e.Failing
		if e.Ordered && e.Enabled {
			if err := s.lineUp(ctx, tx, e.ID, []string{event.Subject}); err != nil {
				return err
			}
		}
	}
	due := map[string]int{}
	for _, d := range made {
		if d.State == string(Pending) && !waits[d.EndpointID] {
			due[d.EndpointID]++
		}
	}
	return s.admit(ctx, tx, due)
}

// deliveriesOf are the event's deliveries: those to disabled endpoints are skipped, those to failing ones wait.
func (s *Service) deliveriesOf(event events.Event, to []webhooksql.HoldEndpointsRow) webhooksql.InsertDeliveriesParams {
	p := webhooksql.InsertDeliveriesParams{
		EventID: event.ID, EventSeq: event.Seq, EventType: event.Type, OwnerID: event.OwnerID, Subject: event.Subject,
		OccurredAt: event.OccurredAt, Origin: string(FromFanout), LifetimeSeconds: s.cfg.Lifetime.Seconds(),
	}
	for _, e := range to {
		reason, wait := "", 0.0
		switch {
		case !e.Enabled:
			reason = disabled(e.DisabledReason)
		case e.Failing:
			wait = s.cfg.FailingWait.Seconds()
		}
		p.EndpointIds, p.Reasons = append(p.EndpointIds, e.ID), append(p.Reasons, reason)
		p.WaitsSeconds, p.Ordereds = append(p.WaitsSeconds, wait), append(p.Ordereds, e.Ordered)
	}
	return p
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
