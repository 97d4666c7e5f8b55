package webhooks

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
	"github.com/postbus/postbus/pg"
)

// DeliveryFilter selects deliveries. Zero fields do not select.
type DeliveryFilter struct {
	EndpointID string
	OwnerID    string
	EventID    string
	EventType  string
	Subject    string
	States     []DeliveryState
	Since      time.Time // the event occurred at or after
	Until      time.Time // and before
	// Unacknowledged selects the discarded ones that nobody has taken note of.
	Unacknowledged bool
	Cursor         string // DeliveryPage.Next of the page before
	Limit          int    // default 50, at most 200
}

// DeliveryPage is one page of deliveries, newest first. Next is "" on the last one.
type DeliveryPage struct {
	Deliveries []Delivery
	Next       string
}

// Deliveries answers a page of deliveries, those of deleted endpoints too. Where a filter beside endpoint or owner finds few, a page
// may have fewer than Limit, even none, and a Next: it has looked at as many as it may.
func (s *Service) Deliveries(ctx context.Context, f DeliveryFilter) (DeliveryPage, error) {
	params, err := f.params()
	if err != nil {
		return DeliveryPage{}, err
	}
	look := &look{queries: queries(pg.Planned{DBTX: s.db()}), params: params}
	rows, next, err := look.page(ctx)
	if err != nil {
		return DeliveryPage{}, fmt.Errorf("list deliveries: %w", err)
	}
	var page DeliveryPage
	if next > 0 {
		page.Next = cursorOf("delivery", strconv.FormatInt(next, 10))
	}
	page.Deliveries = make([]Delivery, len(rows))
	for i, row := range rows {
		page.Deliveries[i] = deliveryOf(row.PostbusWebhookDelivery, row.InFlight)
	}
	return page, nil
}

func (f DeliveryFilter) params() (webhooksql.ListDeliveriesParams, error) {
	p := webhooksql.ListDeliveriesParams{
		EndpointID: nullable(f.EndpointID), EventID: nullable(f.EventID), OwnerID: f.OwnerID, EventType: f.EventType,
		Subject: f.Subject, States: []string{}, Since: nullable(f.Since), Until: nullable(f.Until), Unacknowledged: f.Unacknowledged,
	}
	limit, err := pageSize(f.Limit)
	if err != nil {
		return p, err
	}
	p.PageSize = int32(limit) + 1
	if p.BeforeID, err = numberOf("delivery", f.Cursor, 64); err != nil {
		return p, err
	}
	for _, id := range []struct{ name, value string }{{"endpoint_id", f.EndpointID}, {"event_id", f.EventID}} {
		if id.value != "" && !isUUID(id.value) {
			return p, fmt.Errorf("%w: %s %q is not an id (a UUID)", ErrInvalid, id.name, id.value)
		}
	}
	for _, state := range f.States {
		switch state {
		case Pending, Delivered, Discarded, Skipped:
			p.States = append(p.States, string(state))
		default:
			return p, fmt.Errorf("%w: state %q; use %q, %q, %q or %q", ErrInvalid, state, Pending, Delivered, Discarded, Skipped)
		}
	}
	return p, nil
}

// Delivery answers one delivery.
func (s *Service) Delivery(ctx context.Context, id string) (Delivery, error) {
	n, err := deliveryID(id)
	if err != nil {
		return Delivery{}, err
	}
	row, err := queries(s.db()).DeliveryByID(ctx, webhooksql.DeliveryByIDParams{ID: n})
	if errors.Is(err, pgx.ErrNoRows) {
		return Delivery{}, noDelivery(id)
	}
	if err != nil {
		return Delivery{}, fmt.Errorf("read delivery %s: %w", id, err)
	}
	return deliveryOf(row.PostbusWebhookDelivery, row.InFlight), nil
}

func deliveryOf(row webhooksql.PostbusWebhookDelivery, inFlight bool) Delivery {
	return Delivery{
		ID: strconv.FormatInt(row.ID, 10), EndpointID: row.EndpointID, EventID: row.EventID, EventType: row.EventType,
		OwnerID: row.OwnerID, Subject: row.Subject, OccurredAt: row.OccurredAt.UTC(), Origin: Origin(row.Origin),
		State: DeliveryState(row.State), Reason: deref(row.Reason), Attempts: int(row.Attempts), Tries: int(row.Tries),
		NextAttemptAt: utc(row.NextAttemptAt), InFlight: inFlight, Behind: row.Behind, CreatedAt: row.CreatedAt.UTC(),
		ExpiresAt: row.ExpiresAt.UTC(), SettledAt: utc(row.SettledAt), AcknowledgedAt: utc(row.AcknowledgedAt),
	}
}
