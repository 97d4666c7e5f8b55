package ops

import (
	"context"
	"fmt"

	"github.com/postbus/postbus/internal/dbsqlc/opssql"
	"github.com/postbus/postbus/webhooks"
)

// countCap is how far a dry run counts deliveries.
const countCap = 10_000

// EndpointDisable disables an endpoint.
type EndpointDisable struct {
	EndpointID
	Reason string `json:"reason,omitempty" doc:"Why, for whoever looks later"`
}

// DoneOf is Done for one owner's thing.
type DoneOf struct {
	Done
	owner string
}

// AuditOwner makes the act a line of the owner's.
func (d DoneOf) AuditOwner() string { return d.owner }

func declareEndpointSwitches(r *Registry) error {
	return firstError(
		add(r, Op[EndpointID, Endpoint]{
			Name: "webhooks.enable", Summary: "Enable an endpoint and forget what was held against it", Access: Act, Idempotent: true,
			Run: func(ctx context.Context, c *Call, in EndpointID) (Endpoint, error) {
				on := true
				return patchEndpoint(ctx, c, in.ID, webhooks.EndpointPatch{Enabled: &on})
			},
		}),
		add(r, Op[EndpointDisable, Endpoint]{
			Name: "webhooks.disable", Summary: "Disable an endpoint and discard what waits for it", Access: Act, Destructive: true, Idempotent: true,
			Preview: func(ctx context.Context, c *Call, in EndpointDisable) (Preview, error) {
				return previewWaiting(ctx, c, in.ID, "disable the endpoint to %s and discard the deliveries that wait; after enabling they can be sent again")
			},
			Run: func(ctx context.Context, c *Call, in EndpointDisable) (Endpoint, error) {
				off := false
				return patchEndpoint(ctx, c, in.ID, webhooks.EndpointPatch{Enabled: &off, Reason: in.Reason})
			},
		}),
		add(r, Op[EndpointID, DoneOf]{
			Name: "webhooks.delete", Summary: "Delete an endpoint with its secrets and discard what waits for it", Access: Act, Destructive: true,
			Preview: func(ctx context.Context, c *Call, in EndpointID) (Preview, error) {
				return previewWaiting(ctx, c, in.ID, "delete the endpoint to %s with its secrets and discard the deliveries that wait, for good")
			},
			Run: func(ctx context.Context, c *Call, in EndpointID) (DoneOf, error) {
				hooks, endpoint, err := c.endpoint(ctx, in.ID)
				if err != nil {
					return DoneOf{}, err
				}
				return DoneOf{Done: Done{Done: true}, owner: endpoint.OwnerID}, hooks.Delete(ctx, in.ID)
			},
		}),
	)
}

// previewWaiting counts what waits for the endpoint. would has a place for its URL.
func previewWaiting(ctx context.Context, c *Call, id, would string) (Preview, error) {
	_, endpoint, err := c.endpoint(ctx, id)
	if err != nil {
		return Preview{}, err
	}
	n, err := queries(c.Pool).CountWaiting(ctx, opssql.CountWaitingParams{EndpointID: id, Cap: countCap})
	return Preview{Would: fmt.Sprintf(would, endpoint.URL), Count: min(n, countCap), About: n >= countCap}, err
}
