package panel

import (
	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/panel/internal/view"
)

// events lists events, and shows the one that the URL names.
func (p *Panel) events(v *visit) (content, error) {
	if id := v.query.Get("event"); id != "" {
		return p.event(v, id)
	}
	page := view.EventsPage{Query: v.query, Global: v.who.Owner == "", CanAct: v.who.May(ops.Act)}
	listed, err := list[ops.Event](v, "events.list")
	if err != nil {
		page.Problem = p.told(v.r, err)
	}
	page.Events, page.Next = listed.Items, listed.Next
	types, err := do[ops.Listed[ops.EventType]](v, "events.types", map[string]int{"limit": 200})
	if err != nil {
		return content{}, err
	}
	page.Types = types.Items
	return content{title: "Events", here: "events", body: view.Events(page)}, nil
}

// event shows one event with what became of it.
func (p *Panel) event(v *visit, id string) (content, error) {
	event, err := do[ops.EventTree](v, "events.get", map[string]string{"id": id})
	if err != nil {
		return content{}, err
	}
	page := view.EventPage{Event: event, Query: v.query, CanAct: v.who.May(ops.Act), All: "payload?event=" + id}
	if page.Replay, err = v.replayForm(); err != nil {
		return content{}, err
	}
	return content{title: "Event " + event.ID, here: "events", body: view.Event(page)}, nil
}
