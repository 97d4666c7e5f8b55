package panel

import (
	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/panel/internal/view"
)

// webhooks lists endpoints, and shows the endpoint or delivery that the URL names.
func (p *Panel) webhooks(v *visit) (content, error) {
	if id := v.query.Get("delivery"); id != "" {
		return p.delivery(v, id)
	}
	if id := v.query.Get("endpoint"); id != "" {
		return p.endpoint(v, id)
	}
	page := view.EndpointsPage{Query: v.query, Global: v.who.Owner == "", CanAct: v.who.May(ops.Act)}
	listed, err := list[ops.Endpoint](v, "webhooks.list", "new")
	if err != nil {
		page.Problem = p.told(v.r, err)
	}
	page.Endpoints, page.Next = listed.Items, listed.Next
	types, err := do[ops.Listed[ops.EventType]](v, "webhooks.event_types", map[string]int{"limit": 200})
	if err != nil {
		return content{}, err
	}
	page.Types = types.Items
	return content{title: "Webhooks", here: "webhooks", body: view.Endpoints(page)}, nil
}

// endpoint shows one endpoint with its deliveries.
func (p *Panel) endpoint(v *visit, id string) (content, error) {
	endpoint, err := do[ops.Endpoint](v, "webhooks.get", map[string]string{"id": id})
	if err != nil {
		return p.gone(v, id, err)
	}
	page := view.EndpointPage{Endpoint: &endpoint, ID: id, Query: v.query, CanAct: v.who.May(ops.Act)}
	types, err := do[ops.Listed[ops.EventType]](v, "webhooks.event_types", map[string]int{"limit": 200})
	if err != nil {
		return content{}, err
	}
	page.Types = types.Items
	if err := p.deliveries(v, &page); err != nil {
		return content{}, err
	}
	return content{title: "Endpoint " + endpoint.URL, here: "webhooks", body: view.EndpointDetail(page)}, nil
}

// gone shows what is left of an endpoint that is deleted: its deliveries.
func (p *Panel) gone(v *visit, id string, why error) (content, error) {
	page := view.EndpointPage{ID: id, Query: v.query}
	if err := p.deliveries(v, &page); err != nil || len(page.Deliveries) == 0 {
		return content{}, why
	}
	return content{title: "Deleted endpoint", here: "webhooks", body: view.EndpointDetail(page)}, nil
}

// deliveries are the log of the endpoint, by the filters of the URL.
func (p *Panel) deliveries(v *visit, page *view.EndpointPage) error {
	v.query.Set("endpoint_id", page.ID)
	defer v.query.Del("endpoint_id")
	listed, err := list[ops.Delivery](v, "webhooks.deliveries", "endpoint")
	if err != nil {
		page.Problem = p.told(v.r, err)
	}
	page.Deliveries, page.Next = listed.Items, listed.Next
	replays, err := do[ops.Listed[ops.Replay]](v, "events.replays", map[string]any{"target": "endpoint", "name": page.ID, "limit": 5})
	page.Replays = replays.Items
	return err
}

// delivery shows one delivery with its attempts.
func (p *Panel) delivery(v *visit, id string) (content, error) {
	delivery, err := do[ops.Delivery](v, "webhooks.delivery", map[string]string{"id": id})
	if err != nil {
		return content{}, err
	}
	attempts, err := do[ops.Listed[ops.Attempt]](v, "webhooks.attempts", map[string]any{"id": id, "limit": 50, "cursor": v.query.Get("cursor")})
	if err != nil {
		return content{}, err
	}
	event, err := do[ops.EventTree](v, "events.get", map[string]string{"id": delivery.EventID})
	page := view.DeliveryPage{Delivery: delivery, Attempts: attempts.Items, Next: attempts.Next, Query: v.query, CanAct: v.who.May(ops.Act)}
	if err == nil { // the event of an old delivery may be pruned
		page.Event = &event
	}
	return content{title: "Delivery " + id, here: "webhooks", body: view.DeliveryDetail(page)}, nil
}
