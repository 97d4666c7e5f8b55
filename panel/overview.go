package panel

import (
	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/panel/internal/view"
)

// overview is the bus at a glance.
func (p *Panel) overview(v *visit) (content, error) {
	if v.who.Owner != "" { // what it counts is about all owners
		return p.jobs(v)
	}
	page := view.OverviewPage{Range: v.query.Get("range")}
	var err error
	if page.Tasks, err = do[ops.TaskOverview](v, "tasks.overview", nothing{}); err != nil {
		return content{}, err
	}
	if page.Status, err = do[ops.SystemStatus](v, "system.status", nothing{}); err != nil {
		return content{}, err
	}
	alerts, err := do[ops.Listed[ops.Alert]](v, "alerts.list", nothing{})
	if err != nil {
		return content{}, err
	}
	page.Alerts, page.CanAct = alerts.Items, v.who.May(ops.Act)
	return content{title: "Overview", here: "overview", body: view.Overview(page)}, nil
}

// nothing is the input of an operation that is asked for nothing in particular.
type nothing struct{}
