package ops

import (
	"context"
	"fmt"
	"slices"

	"github.com/postbus/postbus/jobs"
)

// maxMany is how many jobs one call changes, and how far a dry run counts.
const maxMany = 10_000

// TaskMany is the input of an act on many jobs.
type TaskMany struct {
	TaskFilter
	Limit int `json:"limit,omitempty" doc:"How many jobs one call changes at most, 1 to 10,000; 10,000 when left out" minimum:"0" maximum:"10000"`
}

// Changed is what an act on many things answers.
type Changed struct {
	Changed int  `json:"changed" doc:"How many it changed"`
	More    bool `json:"more" doc:"There may be more: call again"`
}

// many is one act on the jobs that match.
type many struct {
	verb string
	// usual are the states where the filter names none; can are those that the act changes.
	usual, can []jobs.State
	act        func(jobs.Inspector, context.Context, jobs.Filter) (int, error)
	// sure says that the act changes all that it takes: less than the limit were all.
	sure bool
}

func declareTaskMany(r *Registry) error {
	retry := many{
		verb: "retry", act: jobs.Inspector.RetryMany,
		usual: []jobs.State{jobs.Retryable, jobs.Discarded},
		can:   []jobs.State{jobs.Retryable, jobs.Completed, jobs.Discarded, jobs.Cancelled},
	}
	open := []jobs.State{jobs.Pending, jobs.Running, jobs.Retryable, jobs.Discarded}
	cancel := many{verb: "cancel", act: jobs.Inspector.CancelMany, usual: open, can: open, sure: true}
	return firstError(
		add(r, Op[TaskMany, Changed]{
			Name: "tasks.retry_many", Access: Act, Destructive: true, Preview: retry.preview, Run: retry.run,
			Summary: "Run all jobs that match again now; where no states are given, those that are retryable or discarded",
		}),
		add(r, Op[TaskMany, Changed]{
			Name: "tasks.cancel_many", Access: Act, Destructive: true, Idempotent: true, Preview: cancel.preview, Run: cancel.run,
			Summary: "Cancel all jobs that match and have not ended well",
		}),
	)
}

// filter is the inspector's filter of what the act would change, and false where that is nothing.
func (m many) filter(c *Call, in TaskMany) (filter jobs.Filter, any bool, err error) {
	if filter, err = in.jobs(c); err != nil {
		return filter, false, err
	}
	if len(filter.States) == 0 {
		filter.States = m.usual
	}
	filter.States = slices.DeleteFunc(slices.Clone(filter.States), func(s jobs.State) bool { return !slices.Contains(m.can, s) })
	filter.Limit = in.limit()
	return filter, len(filter.States) > 0, nil
}

func (in TaskMany) limit() int {
	if in.Limit == 0 {
		return maxMany
	}
	return in.Limit
}

// preview counts what matches, page by page, up to maxMany.
func (m many) preview(ctx context.Context, c *Call, in TaskMany) (Preview, error) {
	preview := Preview{Would: fmt.Sprintf("%s the jobs that match, the newest first, at most %d in one call", m.verb, in.limit())}
	filter, any, err := m.filter(c, in)
	if err != nil || !any {
		return preview, err
	}
	for filter.Limit = mostPage; ; {
		page, err := c.tasks().List(ctx, filter)
		if err != nil {
			return preview, err
		}
		preview.Count += int64(len(page.Jobs))
		if preview.About = page.Next != "" && preview.Count >= maxMany; preview.About || page.Next == "" {
			return preview, nil
		}
		filter.Cursor = page.Next
	}
}

func (m many) run(ctx context.Context, c *Call, in TaskMany) (Changed, error) {
	filter, any, err := m.filter(c, in)
	if err != nil || !any {
		return Changed{}, err
	}
	n, err := m.act(c.tasks(), ctx, filter)
	if err != nil || n == 0 || m.sure && n < filter.Limit {
		return Changed{Changed: n}, err
	}
	filter.Limit = 1
	left, err := c.tasks().List(ctx, filter)
	return Changed{Changed: n, More: len(left.Jobs) > 0}, err
}
