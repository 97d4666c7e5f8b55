package panel

import (
	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/panel/internal/view"
)

// workers shows the kinds that workers outside of Go serve, and who serves them.
func (p *Panel) workers(v *visit) (content, error) {
	kinds, err := do[ops.Listed[ops.WorkKind]](v, "work.kinds", map[string]int{"limit": 200})
	if err != nil {
		return content{}, err
	}
	workers, err := do[ops.Listed[ops.WorkWorker]](v, "work.workers", map[string]int{"limit": 200})
	if err != nil {
		return content{}, err
	}
	counts, err := do[ops.TaskOverview](v, "tasks.overview", nothing{})
	if err != nil {
		return content{}, err
	}
	page := view.WorkersPage{Kinds: kinds.Items, Workers: workers.Items, Counts: map[string]ops.TaskKindCounts{}, CanAct: v.who.May(ops.Act)}
	for _, c := range counts.Kinds {
		page.Counts[c.Kind] = c
	}
	return content{title: "Workers", here: "workers", body: view.Workers(page)}, nil
}
