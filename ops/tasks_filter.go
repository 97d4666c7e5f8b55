package ops

import (
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/postbus/postbus/jobs"
)

// TaskFilter selects jobs. What is left out does not select.
type TaskFilter struct {
	IDs     []string                   `json:"ids,omitempty" doc:"Only these jobs" maxItems:"200"`
	Kinds   []string                   `json:"kinds,omitempty" doc:"Only these kinds" maxItems:"100"`
	States  []string                   `json:"states,omitempty" doc:"Only these states" enum:"pending,running,retryable,completed,discarded,cancelled" maxItems:"6"`
	Queues  []string                   `json:"queues,omitempty" doc:"Only these queues" maxItems:"100"`
	OwnerID string                     `json:"owner_id,omitempty" doc:"Only this owner's"`
	Args    map[string]json.RawMessage `json:"args,omitempty" doc:"A JSON object that the job's args contain"`
	// Unacknowledged jobs are discarded ones that nobody has seen to.
	Unacknowledged bool `json:"unacknowledged,omitempty" doc:"Only discarded jobs that nobody has acknowledged"`
	Window
}

// TaskList is the input of tasks.list.
type TaskList struct {
	TaskFilter
	Paging
}

func declareTaskList(r *Registry) error {
	return add(r, Op[TaskList, Listed[Task]]{
		Name: "tasks.list", Summary: "List jobs, newest first; since and until are of the time when they were made", Access: Read,
		Run: func(ctx context.Context, c *Call, in TaskList) (Listed[Task], error) {
			filter, err := in.jobs(c)
			if err != nil {
				return Listed[Task]{}, err
			}
			filter.Cursor, filter.Limit = in.Cursor, pageSize(in.Paging)
			page, err := c.tasks().List(ctx, filter)
			return listed(page.Jobs, page.Next, taskOf), err
		},
	})
}

// jobs is the filter of the inspector, kept to the caller's owner.
func (f TaskFilter) jobs(c *Call) (jobs.Filter, error) {
	owner, err := c.OwnerOr(f.OwnerID)
	if err != nil {
		return jobs.Filter{}, err
	}
	filter := jobs.Filter{
		Kinds: f.Kinds, Queues: f.Queues, Owner: owner, After: at(f.Since), Before: at(f.Until), Unacked: f.Unacknowledged,
	}
	for _, id := range f.IDs {
		filter.IDs = append(filter.IDs, jobs.JobID(id))
	}
	for _, state := range f.States {
		filter.States = append(filter.States, jobs.State(state))
	}
	if len(f.Args) > 0 {
		if filter.Args, err = json.Marshal(f.Args); err != nil {
			return jobs.Filter{}, fault("args", "%s", err)
		}
	}
	return filter, nil
}

// storable says whether Postgres takes the text.
func storable(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }
