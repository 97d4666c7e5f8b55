package river

import (
	"context"
	"fmt"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/jobs"
)

func (i *inspector) Retry(ctx context.Context, id jobs.JobID) (jobs.Job, error) {
	number, err := parseID(id)
	if err != nil {
		return jobs.Job{}, err
	}
	changed, err := ask(ctx, i.store, (*riversql.Queries).RetryJobs, riversql.RetryJobsParams{Ids: []int64{number}})
	if err != nil && !conflicts(err) {
		return jobs.Job{}, fmt.Errorf("retry job %s: %w", id, err)
	}
	if err != nil {
		return jobs.Job{}, stands(id)
	}
	job, err := i.Get(ctx, id)
	if err != nil {
		return jobs.Job{}, err
	}
	if len(changed) == 0 && job.State.Final() {
		return job, stands(id)
	}
	return job, nil
}

func stands(id jobs.JobID) error {
	return fmt.Errorf("%w: retry job %s: another job of its kind with the same args stands; retry that one", jobs.ErrInvalid, id)
}

func (i *inspector) Cancel(ctx context.Context, id jobs.JobID) (jobs.Job, error) {
	number, err := parseID(id)
	if err != nil {
		return jobs.Job{}, err
	}
	if _, err := ask(ctx, i.store, (*riversql.Queries).CancelJobs, riversql.CancelJobsParams{Ids: []int64{number}}); err != nil {
		return jobs.Job{}, fmt.Errorf("cancel job %s: %w", id, err)
	}
	return i.Get(ctx, id)
}

func (i *inspector) Acknowledge(ctx context.Context, id jobs.JobID) error {
	number, err := parseID(id)
	if err != nil {
		return err
	}
	n, err := ask(ctx, i.store, (*riversql.Queries).AcknowledgeJob, riversql.AcknowledgeJobParams{ID: number})
	if err != nil {
		return fmt.Errorf("acknowledge job %s: %w", id, err)
	}
	if n > 0 {
		return nil
	}
	job, err := i.Get(ctx, id)
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: acknowledge job %s: it is %s; only discarded jobs are acknowledged", jobs.ErrInvalid, id, job.State)
}

func (i *inspector) RetryMany(ctx context.Context, filter jobs.Filter) (int, error) {
	ids, err := i.matching(ctx, filter, jobs.Retryable, jobs.Completed, jobs.Discarded, jobs.Cancelled)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	changed, err := ask(ctx, i.store, (*riversql.Queries).RetryJobs, riversql.RetryJobsParams{Ids: ids})
	if err != nil {
		return 0, fmt.Errorf("retry %d jobs: %w", len(ids), err)
	}
	return len(changed), nil
}

func (i *inspector) CancelMany(ctx context.Context, filter jobs.Filter) (int, error) {
	ids, err := i.matching(ctx, filter, jobs.Pending, jobs.Running, jobs.Retryable, jobs.Discarded)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	changed, err := ask(ctx, i.store, (*riversql.Queries).CancelJobs, riversql.CancelJobsParams{Ids: ids})
	if err != nil {
		return 0, fmt.Errorf("cancel %d jobs: %w", len(ids), err)
	}
	return len(changed), nil
}

// matching answers the ids of the jobs that match and that the act would change.
func (i *inspector) matching(ctx context.Context, filter jobs.Filter, acts ...jobs.State) ([]int64, error) {
	states, any := within(filter.States, acts)
	params, ok, err := listParams(filter)
	if err != nil || !ok || !any {
		return nil, err
	}
	params.States = []string{}
	if err := filterStates(&params, states); err != nil {
		return nil, err
	}
	params.Most = maxBulk
	if filter.Limit > 0 {
		params.Most = int32(min(filter.Limit, maxBulk))
	}
	if err := i.narrow(ctx, &params); err != nil {
		return nil, err
	}
	ids, err := i.planned().ListJobIDs(ctx, riversql.ListJobIDsParams{
		Ids: params.Ids, Kinds: params.Kinds, Queues: params.Queues, States: params.States, Waiting: params.Waiting,
		Owner: params.Owner, Args: params.Args, After: params.After, Before: params.Before, Below: params.Below,
		FromID: params.FromID, Unacked: params.Unacked, Unasked: true, Most: params.Most,
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
