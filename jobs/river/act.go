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
