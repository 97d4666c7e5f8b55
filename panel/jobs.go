package panel

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/panel/internal/view"
)

// jobs lists jobs, and shows the one that the URL names.
func (p *Panel) jobs(v *visit) (content, error) {
	if v.query.Get("job") != "" {
		return p.job(v)
	}
	if find := strings.TrimSpace(v.query.Get("find")); find != "" {
		return p.found(v, find)
	}
	page := view.JobsPage{Query: v.query, CanAct: v.who.May(ops.Act), Global: v.who.Owner == ""}
	held := strings.FieldsFunc(v.query.Get("hold"), func(r rune) bool { return r == ',' })
	v.query.Del("hold")
	listed, err := list[ops.Task](v, "tasks.list")
	if err != nil {
		page.Problem = p.told(v.r, err)
		listed = ops.Listed[ops.Task]{}
	}
	page.Jobs, page.Next = listed.Items, listed.Next
	if page.Acts, err = v.actsAtWork(); err != nil {
		return content{}, err
	}
	if len(held) > 0 && page.Problem == nil {
		if err := v.hold(&page, held); err != nil {
			return content{}, err
		}
	}
	if page.Global {
		kinds, err := do[ops.Listed[ops.TaskKind]](v, "tasks.kinds", map[string]int{"limit": 200})
		if err != nil {
			return content{}, err
		}
		for _, kind := range kinds.Items {
			page.Kinds = append(page.Kinds, kind.Kind)
		}
	}
	return content{title: "Jobs", here: "jobs", body: view.Jobs(page)}, nil
}

// hold keeps the rows that somebody works with, with their state of now, and says whether there are newer ones.
func (v *visit) hold(page *view.JobsPage, ids []string) error {
	fresh := len(page.Jobs) > 0 && !slices.Contains(ids, page.Jobs[0].ID)
	ids = ids[:min(len(ids), 200)]
	kept, err := do[ops.Listed[ops.Task]](v, "tasks.list", map[string]any{"ids": ids, "limit": 200})
	if err != nil {
		return err
	}
	page.Jobs, page.Newer = kept.Items, fresh
	return nil
}

// found leads from what was typed into the search to what it names.
func (p *Panel) found(v *visit, text string) (content, error) {
	v.query.Del("find")
	switch {
	case isNumber(text):
		v.query.Set("job", text)
	case len(text) == 36 && strings.Count(text, "-") == 4:
		v.query.Set("event", text)
		return p.events(v)
	}
	if v.query.Get("job") == "" {
		types, err := do[ops.Listed[ops.EventType]](v, "events.types", map[string]int{"limit": 200})
		if err != nil {
			return content{}, err
		}
		if slices.ContainsFunc(types.Items, func(t ops.EventType) bool { return t.Name == text }) {
			v.query.Set("types", text)
			return p.events(v)
		}
		v.query.Set("kinds", text)
	}
	return p.jobs(v)
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// job shows one job.
func (p *Panel) job(v *visit) (content, error) {
	id := v.query.Get("job")
	task, err := do[ops.Task](v, "tasks.get", map[string]string{"id": id})
	if err != nil {
		return content{}, err
	}
	page := view.JobPage{Job: task, Query: v.query, CanAct: v.who.May(ops.Act), All: "payload?job=" + id}
	var args struct {
		EventID string `json:"event_id"`
		Events  int    `json:"events"`
		First   int64  `json:"first_seq"`
	}
	if json.Unmarshal(task.Args, &args) == nil && len(args.EventID) == 36 {
		page.EventID = args.EventID
	} else if args.First > 0 && args.Events > 1 {
		page.Events = args.Events
	}
	return content{title: "Job " + task.ID, here: "jobs", body: view.Job(page)}, nil
}

// payload is a job's args or an event's data, byte for byte.
func (p *Panel) payload(w http.ResponseWriter, r *http.Request) {
	v, ok := p.visitor(w, r)
	if !ok {
		return
	}
	var body json.RawMessage
	var err error
	if id := v.query.Get("event"); id != "" {
		var event ops.EventTree
		event, err = do[ops.EventTree](v, "events.get", map[string]string{"id": id})
		body = event.Data
	} else {
		var task ops.Task
		task, err = do[ops.Task](v, "tasks.get", map[string]string{"id": v.query.Get("job")})
		body = task.Args
	}
	if err != nil {
		told := p.told(r, err)
		http.Error(w, told.Message, told.Code.Status())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}
