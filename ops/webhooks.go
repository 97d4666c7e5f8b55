package ops

import (
	"context"
	"errors"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/postbus/postbus/webhooks"
)

// Endpoint is where an owner's events are sent. Its secrets and the values of its headers are never answered.
type Endpoint struct {
	ID             string         `json:"id"`
	OwnerID        string         `json:"owner_id"`
	URL            string         `json:"url" maxLength:"2048"`
	Description    string         `json:"description,omitempty"`
	Types          []string       `json:"types" doc:"Globs over event types"`
	Scope          webhooks.Scope `json:"scope" doc:"Narrows the events further; {} takes all"`
	HeaderNames    []string       `json:"header_names" doc:"The custom headers"`
	MaxInFlight    int            `json:"max_in_flight"`
	RatePerSecond  int            `json:"rate_per_second" doc:"0 is no bound"`
	Ordered        bool           `json:"ordered" doc:"The deliveries of a subject go one after the other"`
	Enabled        bool           `json:"enabled"`
	DisabledReason string         `json:"disabled_reason,omitempty"`
	DisabledAt     *time.Time     `json:"disabled_at,omitempty"`
	FailingSince   *time.Time     `json:"failing_since,omitempty" doc:"When the run of failures without a success began"`
	CooldownUntil  *time.Time     `json:"cooldown_until,omitempty" doc:"When the receiver wants to be asked again"`
	CreatedAt      time.Time      `json:"created_at"`
	UpdatedAt      time.Time      `json:"updated_at"`
}

// AuditOwner makes an act on the endpoint a line of its owner's.
func (e Endpoint) AuditOwner() string { return e.OwnerID }

// EndpointID names one endpoint.
type EndpointID struct {
	ID string `json:"id" doc:"The endpoint's id" minLength:"1" maxLength:"40"`
}

// ChangedOf is Changed of one owner's things.
type ChangedOf struct {
	Changed
	owner string
}

// AuditOwner makes the act a line of the owner's.
func (c ChangedOf) AuditOwner() string { return c.owner }

// headerValues are custom headers by name.
type headerValues map[string]string

// Schema allows values that are longer than other strings.
func (headerValues) Schema(huma.Registry) *huma.Schema {
	most := 2048
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: &huma.Schema{Type: huma.TypeString, MaxLength: &most}}
}

func declareWebhooks(r *Registry) error {
	return firstError(
		declareEndpoints(r), declareEndpointSwitches(r), declareSecrets(r), declareDeliveries(r), declareDeliveryActs(r),
		declareDeliveryBulk(r), declareWebhookHistory(r),
	)
}

// hooks are the webhooks of the call's transaction.
func (c *Call) hooks() (*webhooks.Service, error) {
	switch {
	case c.Webhooks == nil:
		return nil, newError(Conflict, "webhooks are not turned on in this process: configure them with at least one key, or ask a process that has them")
	case c.Tx != nil:
		return c.Webhooks.With(c.Tx), nil
	}
	return c.Webhooks, nil
}

// endpoint answers an endpoint that the caller may see, and the webhooks to act with.
func (c *Call) endpoint(ctx context.Context, id string) (*webhooks.Service, webhooks.Endpoint, error) {
	hooks, err := c.hooks()
	if err != nil {
		return nil, webhooks.Endpoint{}, err
	}
	endpoint, err := hooks.Get(ctx, id)
	if err != nil {
		return nil, webhooks.Endpoint{}, hidden(err, "endpoint", id)
	}
	return hooks, endpoint, c.Mine(endpoint.OwnerID, "endpoint", id)
}

// endpointOwner is the owner of an endpoint that may be deleted by now: its deliveries say whose it was.
func (c *Call) endpointOwner(ctx context.Context, id string) (*webhooks.Service, string, error) {
	hooks, endpoint, err := c.endpoint(ctx, id)
	var told *Error
	if err == nil || !errors.As(err, &told) || told.Code != NotFound {
		return hooks, endpoint.OwnerID, err
	}
	if hooks, err = c.hooks(); err != nil {
		return nil, "", err
	}
	page, listErr := hooks.Deliveries(ctx, webhooks.DeliveryFilter{EndpointID: id, OwnerID: c.Who.Owner, Limit: 1})
	switch {
	case listErr != nil && Explain(listErr).Code != Invalid: // what is no id has no deliveries
		return nil, "", listErr
	case len(page.Deliveries) == 0:
		return nil, "", told
	}
	return hooks, page.Deliveries[0].OwnerID, nil
}

func endpointOf(e webhooks.Endpoint) Endpoint {
	out := Endpoint{
		ID: e.ID, OwnerID: e.OwnerID, URL: e.URL, Description: e.Description, Types: e.Types, Scope: e.Scope,
		HeaderNames: e.HeaderNames, MaxInFlight: e.MaxInFlight, RatePerSecond: e.RatePerSecond, Ordered: e.Ordered,
		Enabled: e.Enabled, DisabledReason: e.DisabledReason, DisabledAt: e.DisabledAt, FailingSince: e.FailingSince,
		CooldownUntil: e.CooldownUntil, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
	}
	if out.HeaderNames == nil {
		out.HeaderNames = []string{}
	}
	return out
}
