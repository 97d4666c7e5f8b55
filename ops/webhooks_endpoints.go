package ops

import (
	"context"

	"github.com/postbus/postbus/webhooks"
)

// EndpointFilter selects endpoints.
type EndpointFilter struct {
	OwnerID string `json:"owner_id,omitempty"`
	Enabled *bool  `json:"enabled,omitempty"`
	Failing *bool  `json:"failing,omitempty" doc:"Those whose latest attempts all failed, or the others"`
	Paging
}

// EndpointSpec is a new endpoint.
type EndpointSpec struct {
	OwnerID       string          `json:"owner_id,omitempty" doc:"Whose events are sent; left out by a caller who is bound to an owner"`
	URL           string          `json:"url" doc:"https or http, of a public address" minLength:"1" maxLength:"2048"`
	Description   string          `json:"description,omitempty"`
	Types         []string        `json:"types" doc:"Globs: a type, a dotted prefix and .*, or *" minItems:"1" maxItems:"100"`
	Scope         *webhooks.Scope `json:"scope,omitempty" doc:"Narrows by subjects, or by top-level keys of the data"`
	Headers       headerValues    `json:"headers,omitempty" doc:"Sent with every request; at most 20. Kept sealed and never answered"`
	MaxInFlight   int             `json:"max_in_flight,omitempty" doc:"Requests under way at a time; 1 when left out" minimum:"0" maximum:"32"`
	RatePerSecond int             `json:"rate_per_second,omitempty" doc:"Requests a second; no bound when left out" minimum:"0" maximum:"1000"`
	Ordered       bool            `json:"ordered,omitempty" doc:"Send the deliveries of a subject one after the other"`
	Secret        string          `json:"secret,omitempty" doc:"A signing secret that the receiver has already, whsec_…; made here when left out"`
	Asymmetric    bool            `json:"asymmetric,omitempty" doc:"Sign with an Ed25519 key beside the secret"`
}

// CreatedEndpoint is a new endpoint with what its receiver verifies with.
type CreatedEndpoint struct {
	Endpoint
	Secret    string `json:"secret" doc:"Shown here and never again"`
	PublicKey string `json:"public_key,omitempty"`
}

// EndpointPatch changes an endpoint.
type EndpointPatch struct {
	EndpointID
	URL           *string         `json:"url,omitempty" minLength:"1" maxLength:"2048"`
	Description   *string         `json:"description,omitempty"`
	Types         *[]string       `json:"types,omitempty" minItems:"1" maxItems:"100"`
	Scope         *webhooks.Scope `json:"scope,omitempty" doc:"Replaces the scope; {} takes all"`
	Headers       *headerValues   `json:"headers,omitempty" doc:"Replaces all custom headers; {} has none"`
	MaxInFlight   *int            `json:"max_in_flight,omitempty" minimum:"1" maximum:"32"`
	RatePerSecond *int            `json:"rate_per_second,omitempty" doc:"0 is no bound" minimum:"0" maximum:"1000"`
	Ordered       *bool           `json:"ordered,omitempty" doc:"Takes hold of what waits already"`
}

func declareEndpoints(r *Registry) error {
	return firstError(
		add(r, Op[EndpointFilter, Listed[Endpoint]]{
			Name: "webhooks.list", Summary: "List endpoints by id", Access: Read, Run: listEndpoints,
		}),
		add(r, Op[EndpointID, Endpoint]{
			Name: "webhooks.get", Summary: "Show one endpoint", Access: Read,
			Run: func(ctx context.Context, c *Call, in EndpointID) (Endpoint, error) {
				_, endpoint, err := c.endpoint(ctx, in.ID)
				if err != nil {
					return Endpoint{}, err
				}
				return endpointOf(endpoint), nil
			},
		}),
		add(r, Op[EndpointSpec, CreatedEndpoint]{
			Name: "webhooks.create", Summary: "Make an endpoint; its signing secret is shown once", Access: Act, Run: createEndpoint,
		}),
		add(r, Op[EndpointPatch, Endpoint]{
			Name: "webhooks.update", Summary: "Change what is given of an endpoint", Access: Act, Idempotent: true, Run: updateEndpoint,
		}),
	)
}

func listEndpoints(ctx context.Context, c *Call, in EndpointFilter) (Listed[Endpoint], error) {
	hooks, err := c.hooks()
	if err != nil {
		return Listed[Endpoint]{}, err
	}
	owner, err := c.OwnerOr(in.OwnerID)
	if err != nil {
		return Listed[Endpoint]{}, err
	}
	page, err := hooks.List(ctx, webhooks.EndpointFilter{
		OwnerID: owner, Enabled: in.Enabled, Failing: in.Failing, Cursor: in.Cursor, Limit: in.Limit,
	})
	return listed(page.Endpoints, page.Next, endpointOf), err
}

func createEndpoint(ctx context.Context, c *Call, in EndpointSpec) (CreatedEndpoint, error) {
	hooks, err := c.hooks()
	if err != nil {
		return CreatedEndpoint{}, err
	}
	spec := webhooks.EndpointSpec{
		URL: in.URL, Description: in.Description, Types: in.Types, Headers: in.Headers, MaxInFlight: in.MaxInFlight,
		RatePerSecond: in.RatePerSecond, Ordered: in.Ordered, Secret: in.Secret, Asymmetric: in.Asymmetric,
	}
	if spec.OwnerID, err = c.OwnerOr(in.OwnerID); err != nil {
		return CreatedEndpoint{}, err
	}
	if in.Scope != nil {
		spec.Scope = *in.Scope
	}
	created, err := hooks.Create(ctx, spec)
	return CreatedEndpoint{Endpoint: endpointOf(created.Endpoint), Secret: created.Secret, PublicKey: created.PublicKey}, err
}

func updateEndpoint(ctx context.Context, c *Call, in EndpointPatch) (Endpoint, error) {
	return patchEndpoint(ctx, c, in.ID, webhooks.EndpointPatch{
		URL: in.URL, Description: in.Description, Types: in.Types, Scope: in.Scope, Headers: (*map[string]string)(in.Headers),
		MaxInFlight: in.MaxInFlight, RatePerSecond: in.RatePerSecond, Ordered: in.Ordered,
	})
}

// patchEndpoint changes an endpoint that the caller may see.
func patchEndpoint(ctx context.Context, c *Call, id string, patch webhooks.EndpointPatch) (Endpoint, error) {
	hooks, _, err := c.endpoint(ctx, id)
	if err != nil {
		return Endpoint{}, err
	}
	endpoint, err := hooks.Update(ctx, id, patch)
	return endpointOf(endpoint), err
}
