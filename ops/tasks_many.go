package ops

import (
	"context"
	"fmt"

	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/bulk"
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

// many is one act on the jobs that match, in one transaction.
type many struct {
	verb bulk.Verb
	act  func(jobs.Inspector, context.Context, jobs.Filter) (int, error)
}

func declareTaskMany(r *Registry) error {
	retry := many{verb: bulk.Retry, act: jobs.Inspector.RetryMany}
	cancel := many{verb: bulk.Cancel, act: jobs.Inspector.CancelMany}
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
	filter.States = m.verb.States(filter.States)
	filter.Limit = in.limit()
	return filter, len(filter.States) > 0, nil
}

func (in TaskMany) limit() int {
	if in.Limit == 0 {
		return maxMany
	}
	return in.Limit
}

// preview counts what matches, up to maxMany.
func (m many) preview(ctx context.Context, c *Call, in TaskMany) (Preview, error) {
	preview := Preview{Would: fmt.Sprintf("%s the jobs that match, the newest first, at most %d in one call", m.verb, in.limit())}
	filter, any, err := m.filter(c, in)
	if err != nil || !any {
		return preview, err
	}
	filter.Limit = maxMany
	count, err := c.tasks().Count(ctx, filter)
	preview.Count, preview.About = count.N, count.About
	return preview, err
}

func (m many) run(ctx context.Context, c *Call, in TaskMany) (Changed, error) {
	filter, any, err := m.filter(c, in)
	if err != nil || !any {
		return Changed{}, err
	}
	return m.change(ctx, c, filter)
}

// change acts on at most filter.Limit jobs. Less than that were all that it could change.
func (m many) change(ctx context.Context, c *Call, filter jobs.Filter) (Changed, error) {
	n, err := m.act(c.tasks(), ctx, filter)
	if err != nil || n < filter.Limit {
		return Changed{Changed: n}, err
	}
	filter.Limit = 1
	left, err := c.tasks().ListIDs(ctx, filter)
	return Changed{Changed: n, More: len(left.IDs) > 0}, err
}
