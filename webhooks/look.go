package webhooks

import (
	"context"
	"slices"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

// A page of deliveries looks at a bounded number of them, so that its cost does not grow with the history. What is asked for by one
// of endpoint, owner, event, or failed states is found as a whole; a filter beside these is held against so many of the newest,
// and the next page goes on behind them. A time with both ends is answered by an index of its own, whatever is between them.
const (
	// lookAll is of deliveries that lie side by side, lookSome of those that an index names, a page of the table each.
	lookAll, lookSome = 2000, 200
	// madeOverlap is how far ids and times may disagree: no statement that makes deliveries takes as long.
	madeOverlap = time.Minute
)

// look is one page of deliveries under way.
type look struct {
	queries *webhooksql.Queries
	params  webhooksql.ListDeliveriesParams
}

// page answers the deliveries and the id below which the next page goes on, 0 where nothing is left.
func (l *look) page(ctx context.Context) (rows []webhooksql.ListDeliveriesRow, next int64, err error) {
	floor, err := l.floor(ctx)
	if err != nil {
		return nil, 0, err
	}
	l.params.FromID = max(l.params.FromID, floor)
	if rows, err = l.queries.ListDeliveries(ctx, l.params); err != nil {
		return nil, 0, err
	}
	if most := int(l.params.PageSize) - 1; len(rows) > most {
		return rows[:most], rows[most-1].PostbusWebhookDelivery.ID, nil
	}
	return rows, floor, nil
}

// floor answers the id down to which the page looks, 0 for all. A delivery is made after its event occurred, so that a time to
// begin with bounds the ids.
func (l *look) floor(ctx context.Context) (int64, error) {
	p := &l.params
	if p.EventID != nil || p.Since != nil && p.Until != nil {
		return 0, nil
	}
	if p.Since != nil {
		id, err := l.queries.FindDeliveryAt(ctx, webhooksql.FindDeliveryAtParams{MadeAt: p.Since.Add(-madeOverlap)})
		if err != nil {
			return 0, err
		}
		p.FromID = id
	}
	most := max(p.PageSize, lookSome)
	failed := failedStates(p)
	switch {
	case p.EndpointID != nil:
		return l.queries.LookAtDeliveries(ctx, webhooksql.LookAtDeliveriesParams{
			BeforeID: p.BeforeID, FromID: p.FromID, EndpointID: p.EndpointID, Unacknowledged: p.Unacknowledged, Look: most,
		})
	case p.OwnerID != "":
		return l.queries.LookAtDeliveries(ctx, webhooksql.LookAtDeliveriesParams{
			BeforeID: p.BeforeID, FromID: p.FromID, OwnerID: p.OwnerID, Look: most,
		})
	case len(failed) > 0:
		return l.queries.LookAtFailed(ctx, webhooksql.LookAtFailedParams{
			BeforeID: p.BeforeID, FromID: p.FromID, States: failed, Look: most,
		})
	}
	return l.queries.LookAtDeliveries(ctx, webhooksql.LookAtDeliveriesParams{
		BeforeID: p.BeforeID, FromID: p.FromID, Look: max(p.PageSize, lookAll),
	})
}

// failedStates are the states of the filter where they are among those that have an index.
func failedStates(p *webhooksql.ListDeliveriesParams) []string {
	if p.Unacknowledged {
		return []string{string(Discarded)}
	}
	if slices.ContainsFunc(p.States, func(s string) bool { return s != string(Discarded) && s != string(Skipped) }) {
		return nil
	}
	return p.States
}
