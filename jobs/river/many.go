package river

import (
	"context"
	"fmt"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/jobs"
)

const (
	// maxCount is how far Count can be asked to count.
	maxCount = 1_000_000
	// retryLook is how many jobs RetryMany looks at once, at least, for some that can be retried.
	retryLook = 1000
)

func (i *inspector) Count(ctx context.Context, filter jobs.Filter) (count jobs.Count, err error) {
	filter.Cursor = ""
	params, ok, err := listParams(filter)
	if err != nil || !ok {
		return jobs.Count{}, err
	}
	limit := int64(countCap)
	if filter.Limit > 0 {
		limit = int64(min(filter.Limit, maxCount))
	}
	err = i.snapshot(ctx, func(ctx context.Context, i *inspector) error {
		count, err = i.count(ctx, params, limit)
		return err
	})
	return count, err
}

func (i *inspector) count(ctx context.Context, params riversql.ListJobsParams, limit int64) (jobs.Count, error) {
	if err := i.narrow(ctx, &params); err != nil {
		return jobs.Count{}, err
	}
	n, err := i.planned().CountJobs(ctx, riversql.CountJobsParams{
		Ids: params.Ids, Kinds: params.Kinds, Queues: params.Queues, States: params.States, Waiting: params.Waiting,
		Owner: params.Owner, Args: params.Args, After: params.After, Before: params.Before, Below: params.Below,
		FromID: params.FromID, Unacked: params.Unacked, Most: int32(limit) + 1,
	})
	if err != nil {
		return jobs.Count{}, fmt.Errorf("count jobs: %w", err)
	}
	return jobs.Count{N: min(n, limit), About: n > limit}, nil
}

func (i *inspector) ListIDs(ctx context.Context, filter jobs.Filter) (page jobs.IDPage, err error) {
	params, ok, err := listParams(filter)
	if err != nil || !ok {
		return jobs.IDPage{}, err
	}
	limit := bulkLimit(filter)
	var ids []int64
	err = i.snapshot(ctx, func(ctx context.Context, i *inspector) error {
		if err := i.narrow(ctx, &params); err != nil {
			return err
		}
		ids, err = i.idsOf(ctx, params, limit+1, false)
		return err
	})
	if err != nil {
		return jobs.IDPage{}, err
	}
	if len(ids) > limit {
		ids = ids[:limit]
		page.Next = cursorAfter(ids[limit-1])
	}
	for _, id := range ids {
		page.IDs = append(page.IDs, jobID(id))
	}
	return page, nil
}

// RetryMany looks at the jobs that match from the newest on, past those whose unique key another job holds, until it has
// retried as many as it may or none is left.
func (i *inspector) RetryMany(ctx context.Context, filter jobs.Filter) (int, error) {
	params, ok, err := i.matching(ctx, filter, jobs.Retryable, jobs.Completed, jobs.Discarded, jobs.Cancelled)
	if err != nil || !ok {
		return 0, err
	}
	limit, changed := bulkLimit(filter), 0
	for changed < limit {
		look := max(limit-changed, retryLook)
		ids, err := i.idsOf(ctx, params, look, true)
		if err != nil || len(ids) == 0 {
			return changed, err
		}
		free, err := i.planned().FreeToRetry(ctx, riversql.FreeToRetryParams{Ids: ids})
		if err != nil {
			return changed, fmt.Errorf("find which of %d jobs can be retried: %w", len(ids), err)
		}
		params.Below = ids[len(ids)-1]
		last := len(ids) < look
		if most := limit - changed; len(free) > most {
			free, params.Below, last = free[:most], free[most-1], false
		}
		retried, err := ask(ctx, i.store, (*riversql.Queries).RetryJobs, riversql.RetryJobsParams{Ids: free})
		if err != nil {
			return changed, fmt.Errorf("retry %d jobs: %w", len(free), err)
		}
		if changed += len(retried); last {
			break
		}
	}
	return changed, nil
}

func (i *inspector) CancelMany(ctx context.Context, filter jobs.Filter) (int, error) {
	params, ok, err := i.matching(ctx, filter, jobs.Pending, jobs.Running, jobs.Retryable, jobs.Discarded)
	if err != nil || !ok {
		return 0, err
	}
	ids, err := i.idsOf(ctx, params, bulkLimit(filter), true)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	changed, err := ask(ctx, i.store, (*riversql.Queries).CancelJobs, riversql.CancelJobsParams{Ids: ids})
	if err != nil {
		return 0, fmt.Errorf("cancel %d jobs: %w", len(ids), err)
	}
	return len(changed), nil
}

func (i *inspector) AcknowledgeMany(ctx context.Context, filter jobs.Filter) (int, error) {
	filter.Unacked = true
	params, ok, err := i.matching(ctx, filter, jobs.Discarded)
	if err != nil || !ok {
		return 0, err
	}
	ids, err := i.idsOf(ctx, params, bulkLimit(filter), false)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	n, err := ask(ctx, i.store, (*riversql.Queries).AcknowledgeJobs, riversql.AcknowledgeJobsParams{Ids: ids})
	if err != nil {
		return 0, fmt.Errorf("acknowledge %d jobs: %w", len(ids), err)
	}
	return int(n), nil
}

// bulkLimit is how many jobs one call lists or changes.
func bulkLimit(filter jobs.Filter) int {
	if filter.Limit > 0 {
		return min(filter.Limit, maxBulk)
	}
	return maxBulk
}

// matching answers the parameters that find the jobs which match and which the act would change, and false where there
// are none.
func (i *inspector) matching(ctx context.Context, filter jobs.Filter, acts ...jobs.State) (params riversql.ListJobsParams, ok bool, err error) {
	states, any := within(filter.States, acts)
	params, ok, err = listParams(filter)
	if err != nil || !ok || !any {
		return params, false, err
	}
	params.States = []string{}
	if err := filterStates(&params, states); err != nil {
		return params, false, err
	}
	return params, true, i.narrow(ctx, &params)
}

// idsOf lists ids, the newest first. unasked leaves out jobs that run and were asked to stop already.
func (i *inspector) idsOf(ctx context.Context, params riversql.ListJobsParams, most int, unasked bool) ([]int64, error) {
	ids, err := i.planned().ListJobIDs(ctx, riversql.ListJobIDsParams{
		Ids: params.Ids, Kinds: params.Kinds, Queues: params.Queues, States: params.States, Waiting: params.Waiting,
		Owner: params.Owner, Args: params.Args, After: params.After, Before: params.Before, Below: params.Below,
		FromID: params.FromID, Unacked: params.Unacked, Unasked: unasked, Most: int32(most),
	})
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	return ids, nil
}

// within answers the states asked for that are among those that the act changes; all of those where none is asked for.
func within(asked, acts []jobs.State) (states []jobs.State, any bool) {
	if len(asked) == 0 {
		return acts, true
	}
	for _, state := range asked {
		for _, act := range acts {
			if state == act {
				states = append(states, state)
			}
		}
	}
	return states, len(states) > 0
}
