package panel

import (
	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/panel/internal/view"
)

// acts lists the acts on many jobs, or shows the one that the URL names.
func (p *Panel) acts(v *visit) (content, error) {
	page := view.ActsPage{Query: v.query, CanAct: v.who.May(ops.Act), Global: v.who.Owner == ""}
	if id := v.query.Get("act_id"); id != "" {
		act, err := do[ops.BulkAct](v, "tasks.bulk_act", ops.BulkActID{ID: id})
		if err != nil {
			return content{}, err
		}
		page.Acts, page.One = []ops.BulkAct{act}, true
	} else {
		listed, err := list[ops.BulkAct](v, "tasks.bulk_acts")
		if err != nil {
			page.Problem = p.told(v.r, err)
		}
		page.Acts, page.Next = listed.Items, listed.Next
	}
	return content{title: "Acts on many jobs", here: "jobs", body: view.Acts(page)}, nil
}

// replays lists replays, or shows the one that the URL names.
func (p *Panel) replays(v *visit) (content, error) {
	page := view.ReplaysPage{Query: v.query, CanAct: v.who.May(ops.Act), Global: v.who.Owner == ""}
	if id := v.query.Get("replay"); id != "" {
		replay, err := do[ops.Replay](v, "events.get_replay", ops.ReplayID{ID: id})
		if err != nil {
			return content{}, err
		}
		page.Replays, page.One = []ops.Replay{replay}, true
	} else {
		listed, err := list[ops.Replay](v, "events.replays")
		if err != nil {
			page.Problem = p.told(v.r, err)
		}
		page.Replays, page.Next = listed.Items, listed.Next
	}
	var err error
	page.Form, err = v.replayForm()
	return content{title: "Replays", here: "events", body: view.Replays(page)}, err
}

// replayForm is the form of a replay with the subscriptions that the reader may see; who is bound to an owner types the name.
func (v *visit) replayForm() (view.ReplayForm, error) {
	form := view.ReplayForm{Global: v.who.Owner == ""}
	if !form.Global || !v.who.May(ops.Act) {
		return form, nil
	}
	all, err := do[ops.Listed[ops.EventSubscription]](v, "events.subscriptions", map[string]int{"limit": 200})
	for _, s := range all.Items {
		form.Known = append(form.Known, s.Name)
	}
	return form, err
}

// actsAtWork are the newest acts on many jobs that have not ended.
func (v *visit) actsAtWork() ([]ops.BulkAct, error) {
	var open []ops.BulkAct
	newest, err := do[ops.Listed[ops.BulkAct]](v, "tasks.bulk_acts", map[string]int{"limit": 5})
	for _, act := range newest.Items {
		if act.FinishedAt == nil {
			open = append(open, act)
		}
	}
	return open, err
}
