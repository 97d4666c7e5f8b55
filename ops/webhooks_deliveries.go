package ops

import (
	"context"
	"encoding/base64"
	"time"
	"unicode/utf8"

	"github.com/postbus/postbus/webhooks"
)

// Delivery is one event for one endpoint.
type Delivery struct {
	ID             string     `json:"id"`
	EndpointID     string     `json:"endpoint_id"`
	EventID        string     `json:"event_id"`
	EventType      string     `json:"event_type"`
	OwnerID        string     `json:"owner_id"`
	Subject        string     `json:"subject"`
	OccurredAt     time.Time  `json:"occurred_at"`
	Origin         string     `json:"origin" enum:"fanout,replay,test"`
	State          string     `json:"state" enum:"pending,delivered,discarded,skipped"`
	Reason         string     `json:"reason,omitempty" doc:"Why it was skipped or discarded, or how its last attempt failed"`
	Attempts       int        `json:"attempts" doc:"Spent of the schedule"`
	Tries          int        `json:"tries" doc:"Every request, those that spent none included"`
	NextAttemptAt  *time.Time `json:"next_attempt_at,omitempty"`
	InFlight       bool       `json:"in_flight,omitempty"`
	Behind         bool       `json:"behind,omitempty" doc:"It waits for an earlier delivery of its subject"`
	CreatedAt      time.Time  `json:"created_at"`
	ExpiresAt      time.Time  `json:"expires_at"`
	SettledAt      *time.Time `json:"settled_at,omitempty"`
	AcknowledgedAt *time.Time `json:"acknowledged_at,omitempty"`
}

// AuditOwner makes an act on the delivery a line of its owner's.
func (d Delivery) AuditOwner() string { return d.OwnerID }

// DeliveryID names one delivery.
type DeliveryID struct {
	ID string `json:"id" doc:"The delivery's id" minLength:"1" maxLength:"40"`
}

// DeliveryFilter selects deliveries. The times are the event's.
type DeliveryFilter struct {
	EndpointID     string   `json:"endpoint_id,omitempty" maxLength:"40"`
	OwnerID        string   `json:"owner_id,omitempty"`
	EventID        string   `json:"event_id,omitempty" maxLength:"40"`
	EventType      string   `json:"event_type,omitempty" maxLength:"120"`
	Subject        string   `json:"subject,omitempty"`
	States         []string `json:"states,omitempty" enum:"pending,delivered,discarded,skipped" maxItems:"4"`
	Unacknowledged bool     `json:"unacknowledged,omitempty" doc:"Only discarded ones that nobody has taken note of"`
	Window
	Paging
}

// AttemptFilter selects the attempts of a delivery.
type AttemptFilter struct {
	DeliveryID
	Paging
}

// Attempt is one request and its answer.
type Attempt struct {
	N         int                 `json:"n"`
	At        time.Time           `json:"at"`
	URL       string              `json:"url" maxLength:"2048"`
	Spent     bool                `json:"spent" doc:"It counts; it does not where the receiver asked to come back later"`
	Status    int                 `json:"status,omitempty" doc:"The HTTP status; left out where there was no answer"`
	LatencyMS float64             `json:"latency_ms"`
	Error     string              `json:"error,omitempty"`
	Headers   map[string][]string `json:"headers,omitempty" doc:"The answer's"`
	Body      string              `json:"body,omitempty" doc:"The first 16 KiB of the answer, in base64" maxLength:"22000"`
	BodyText  string              `json:"body_text,omitempty" doc:"The same as text, where it is UTF-8" maxLength:"16384"`
	Truncated bool                `json:"truncated,omitempty" doc:"The answer had more than that"`
}

func declareDeliveries(r *Registry) error {
	return firstError(
		add(r, Op[DeliveryFilter, Listed[Delivery]]{
			Name: "webhooks.deliveries", Summary: "List deliveries, newest first, those of deleted endpoints too", Access: Read, Run: listDeliveries,
		}),
		add(r, Op[DeliveryID, Delivery]{
			Name: "webhooks.delivery", Summary: "Show one delivery", Access: Read,
			Run: func(ctx context.Context, c *Call, in DeliveryID) (Delivery, error) {
				_, delivery, err := c.delivery(ctx, in.ID)
				if err != nil {
					return Delivery{}, err
				}
				return deliveryOf(delivery), nil
			},
		}),
		add(r, Op[AttemptFilter, Listed[Attempt]]{
			Name: "webhooks.attempts", Summary: "List a delivery's attempts with the answers, newest first", Access: Read, Run: listAttempts,
		}),
	)
}

func listDeliveries(ctx context.Context, c *Call, in DeliveryFilter) (Listed[Delivery], error) {
	hooks, err := c.hooks()
	if err != nil {
		return Listed[Delivery]{}, err
	}
	owner, err := c.OwnerOr(in.OwnerID)
	if err != nil {
		return Listed[Delivery]{}, err
	}
	filter := webhooks.DeliveryFilter{
		EndpointID: in.EndpointID, OwnerID: owner, EventID: in.EventID, EventType: in.EventType, Subject: in.Subject,
		Since: at(in.Since), Until: at(in.Until), Unacknowledged: in.Unacknowledged, Cursor: in.Cursor, Limit: in.Limit,
	}
	for _, state := range in.States {
		filter.States = append(filter.States, webhooks.DeliveryState(state))
	}
	page, err := hooks.Deliveries(ctx, filter)
	return listed(page.Deliveries, page.Next, deliveryOf), err
}

// delivery answers a delivery that the caller may see, and the webhooks to act with.
func (c *Call) delivery(ctx context.Context, id string) (*webhooks.Service, webhooks.Delivery, error) {
	hooks, err := c.hooks()
	if err != nil {
		return nil, webhooks.Delivery{}, err
	}
	delivery, err := hooks.Delivery(ctx, id)
	if err != nil {
		return nil, webhooks.Delivery{}, hidden(err, "delivery", id)
	}
	return hooks, delivery, c.Mine(delivery.OwnerID, "delivery", id)
}

func listAttempts(ctx context.Context, c *Call, in AttemptFilter) (Listed[Attempt], error) {
	hooks, _, err := c.delivery(ctx, in.ID)
	if err != nil {
		return Listed[Attempt]{}, err
	}
	page, err := hooks.Attempts(ctx, webhooks.AttemptFilter{DeliveryID: in.ID, Cursor: in.Cursor, Limit: in.Limit})
	return listed(page.Attempts, page.Next, attemptOf), err
}

func deliveryOf(d webhooks.Delivery) Delivery {
	return Delivery{
		ID: d.ID, EndpointID: d.EndpointID, EventID: d.EventID, EventType: d.EventType, OwnerID: d.OwnerID, Subject: d.Subject,
		OccurredAt: d.OccurredAt, Origin: string(d.Origin), State: string(d.State), Reason: d.Reason, Attempts: d.Attempts, Tries: d.Tries,
		NextAttemptAt: d.NextAttemptAt, InFlight: d.InFlight, Behind: d.Behind, CreatedAt: d.CreatedAt, ExpiresAt: d.ExpiresAt,
		SettledAt: d.SettledAt, AcknowledgedAt: d.AcknowledgedAt,
	}
}

func attemptOf(a webhooks.Attempt) Attempt {
	out := Attempt{
		N: a.N, At: a.At, URL: a.URL, Spent: a.Spent, Status: a.Status, LatencyMS: float64(a.Latency) / float64(time.Millisecond),
		Error: a.Error, Headers: a.Headers, Body: base64.StdEncoding.EncodeToString(a.Body), Truncated: a.Truncated,
	}
	if utf8.Valid(a.Body) {
		out.BodyText = string(a.Body)
	}
	return out
}
