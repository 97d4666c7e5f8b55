package ops

import (
	"context"
	"fmt"

	"github.com/postbus/postbus/internal/dbsqlc/opssql"
	"github.com/postbus/postbus/webhooks"
)

// EndpointMany is the input of an act on many deliveries of an endpoint.
type EndpointMany struct {
	EndpointID
	Limit int `json:"limit,omitempty" doc:"How many deliveries one call changes at most, 1 to 10,000; 10,000 when left out" minimum:"0" maximum:"10000"`
}

func (m EndpointMany) limit() int {
	if m.Limit == 0 {
		return countCap
	}
	return m.Limit
}

func declareDeliveryActs(r *Registry) error {
	return firstError(
		add(r, Op[EndpointID, Delivery]{
			Name: "webhooks.send_test", Summary: "Send a test event to one endpoint", Access: Act,
			Run: func(ctx context.Context, c *Call, in EndpointID) (Delivery, error) {
				hooks, _, err := c.endpoint(ctx, in.ID)
				if err != nil {
					return Delivery{}, err
				}
				delivery, err := hooks.SendTest(ctx, in.ID)
				return deliveryOf(delivery), err
			},
		}),
		add(r, Op[DeliveryID, Delivery]{
			Name: "webhooks.redeliver", Summary: "Send a delivery again from its first attempt, whatever became of it", Access: Act,
			Run: func(ctx context.Context, c *Call, in DeliveryID) (Delivery, error) {
				return actOnDelivery(ctx, c, in, func(hooks *webhooks.Service) error {
					_, err := hooks.Redeliver(ctx, in.ID)
					return err
				})
			},
		}),
		add(r, Op[DeliveryID, Delivery]{
			Name: "webhooks.acknowledge", Summary: "Take note of a discarded delivery: it raises no alert any more", Access: Act, Idempotent: true,
			Run: func(ctx context.Context, c *Call, in DeliveryID) (Delivery, error) {
				return actOnDelivery(ctx, c, in, func(hooks *webhooks.Service) error { return hooks.Acknowledge(ctx, in.ID) })
			},
		}),
		add(r, Op[DeliveryID, Delivery]{
			Name: "webhooks.cancel", Summary: "Give up a pending delivery", Access: Act, Destructive: true, Preview: previewCancelDelivery,
			Run: func(ctx context.Context, c *Call, in DeliveryID) (Delivery, error) {
				return actOnDelivery(ctx, c, in, func(hooks *webhooks.Service) error { return hooks.Cancel(ctx, in.ID) })
			},
		}),
	)
}

// actOnDelivery does it to a delivery that the caller may see, and answers it as it then stands.
func actOnDelivery(ctx context.Context, c *Call, in DeliveryID, do func(*webhooks.Service) error) (Delivery, error) {
	hooks, _, err := c.delivery(ctx, in.ID)
	if err != nil {
		return Delivery{}, err
	}
	if err := do(hooks); err != nil {
		return Delivery{}, err
	}
	delivery, err := hooks.Delivery(ctx, in.ID)
	return deliveryOf(delivery), err
}

func previewCancelDelivery(ctx context.Context, c *Call, in DeliveryID) (Preview, error) {
	_, d, err := c.delivery(ctx, in.ID)
	if err != nil {
		return Preview{}, err
	}
	if d.State != webhooks.Pending {
		return Preview{Would: fmt.Sprintf("do nothing: the delivery is %s already", d.State)}, nil
	}
	return Preview{Count: 1, Would: fmt.Sprintf("give up delivery %s of event %s to endpoint %s", d.ID, d.EventID, d.EndpointID)}, nil
}

func declareDeliveryBulk(r *Registry) error {
	return firstError(
		add(r, Op[EndpointMany, ChangedOf]{
			Name: "webhooks.redeliver_discarded", Summary: "Send an endpoint's discarded deliveries again that nobody has acknowledged, the oldest first",
			Access: Act, Destructive: true, Preview: previewRedeliver,
			Run: func(ctx context.Context, c *Call, in EndpointMany) (ChangedOf, error) {
				hooks, endpoint, err := c.endpoint(ctx, in.ID)
				if err != nil {
					return ChangedOf{}, err
				}
				n, err := hooks.RedeliverDiscarded(ctx, in.ID, in.limit())
				return ChangedOf{Changed: Changed{Changed: n, More: n == in.limit()}, owner: endpoint.OwnerID}, err
			},
		}),
		add(r, Op[EndpointMany, ChangedOf]{
			Name: "webhooks.acknowledge_all", Summary: "Take note of an endpoint's discarded deliveries, the oldest first; it may be deleted",
			Access: Act, Idempotent: true,
			Run: func(ctx context.Context, c *Call, in EndpointMany) (ChangedOf, error) {
				hooks, owner, err := c.endpointOwner(ctx, in.ID)
				if err != nil {
					return ChangedOf{}, err
				}
				n, err := hooks.AcknowledgeAll(ctx, in.ID, in.limit())
				return ChangedOf{Changed: Changed{Changed: n, More: n == in.limit()}, owner: owner}, err
			},
		}),
	)
}

func previewRedeliver(ctx context.Context, c *Call, in EndpointMany) (Preview, error) {
	_, endpoint, err := c.endpoint(ctx, in.ID)
	if err != nil {
		return Preview{}, err
	}
	most := int64(in.limit())
	n, err := queries(c.Pool).CountRedeliverable(ctx, opssql.CountRedeliverableParams{EndpointID: in.ID, Cap: int32(most)})
	would := fmt.Sprintf("send discarded deliveries to %s again, at most %d in one call", endpoint.URL, most)
	return Preview{Would: would, Count: n}, err
}
