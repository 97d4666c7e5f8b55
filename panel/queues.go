package panel

import (
	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/panel/internal/view"
)

// queues shows the queues with what waits in them.
func (p *Panel) queues(v *visit) (content, error) {
	all, err := do[ops.Listed[ops.Queue]](v, "tasks.queues", map[string]int{"limit": 200})
	if err != nil {
		return content{}, err
	}
	return content{title: "Queues", here: "queues", body: view.Queues(all.Items, v.who.May(ops.Act))}, nil
}

// periodics shows what runs by the clock.
func (p *Panel) periodics(v *visit) (content, error) {
	all, err := do[ops.Listed[ops.Periodic]](v, "tasks.periodic", map[string]int{"limit": 200})
	if err != nil {
		return content{}, err
	}
	page := view.PeriodicsPage{Periodics: all.Items, Runs: map[string][]ops.Task{}, CanAct: v.who.May(ops.Act)}
	for _, one := range all.Items[:min(len(all.Items), maxStrips)] {
		kind := view.PeriodicKind(one)
		runs, err := do[ops.Listed[ops.Task]](v, "tasks.list", map[string]any{"kinds": []string{kind}, "limit": runsShown})
		if err != nil {
			return content{}, err
		}
		page.Runs[kind] = runs.Items
	}
	return content{title: "Periodic", here: "periodics", body: view.Periodics(page)}, nil
}

const (
	// runsShown is how many runs of a periodic are drawn, maxStrips for how many periodics: each costs a read of a few rows.
	runsShown = 20
	maxStrips = 40
)

// audit shows who did what.
func (p *Panel) audit(v *visit) (content, error) {
	page := view.AuditPage{Query: v.query, Global: v.who.Owner == ""}
	for _, o := range p.cfg.Registry.All() {
		if o.Writes() {
			page.Operations = append(page.Operations, o.Name)
		}
	}
	lines, err := list[ops.AuditLine](v, "audit.list")
	if err != nil {
		page.Problem = p.told(v.r, err)
	}
	page.Lines, page.Next = lines.Items, lines.Next
	return content{title: "Audit", here: "audit", body: view.Audit(page)}, nil
}

// system shows versions, processes and tables.
func (p *Panel) system(v *visit) (content, error) {
	status, err := do[ops.SystemStatus](v, "system.status", nothing{})
	if err != nil {
		return content{}, err
	}
	instances, err := do[ops.Listed[ops.Instance]](v, "instances.list", map[string]int{"limit": 200})
	if err != nil {
		return content{}, err
	}
	subscriptions, err := do[ops.Listed[ops.EventSubscription]](v, "events.subscriptions", map[string]int{"limit": 200})
	if err != nil {
		return content{}, err
	}
	types, err := do[ops.Listed[ops.EventType]](v, "events.types", map[string]int{"limit": 200})
	if err != nil {
		return content{}, err
	}
	body := view.System(view.SystemPage{Status: status, Instances: instances.Items, Subscriptions: subscriptions.Items, Types: types.Items})
	return content{title: "System", here: "system", body: body}, nil
}

// settings shows tokens and accounts.
func (p *Panel) settings(v *visit) (content, error) {
	tokens, err := do[ops.TokenPage](v, "tokens.list", map[string]int{"limit": 200})
	if err != nil {
		return content{}, err
	}
	accounts, err := do[ops.AccountPage](v, "accounts.list", map[string]int{"limit": 200})
	if err != nil {
		return content{}, err
	}
	body := view.Settings(view.SettingsPage{Tokens: tokens.Items, Accounts: accounts.Items, Me: v.who.Name})
	return content{title: "Settings", here: "settings", body: body}, nil
}
