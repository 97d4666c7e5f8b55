package faults

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/jobs"
)

// acting are faults of what an Inspector does.
func acting() []Fault {
	return []Fault{
		{Name: "cancel of running work is ignored", Case: "cancel/running", Says: "Cancel of a running job cancels its context", seed: cancelIgnores(jobs.Running)},
		{Name: "cancel of pending work runs anyway", Case: "cancel/pending", Says: "a cancelled job is", seed: cancelIgnores(jobs.Pending)},
		{Name: "a retryable job that was cancelled runs on", Case: "cancel/retryable", Says: "the handler ran", seed: cancelIgnores(jobs.Retryable)},
		{Name: "retry by hand leaves completed jobs", Case: "retry/by-hand", Says: "a job retried by hand has not run again", seed: retryIgnoresCompleted},
		{Name: "acts do not roll back", Case: "transaction/acts-commit-together", Says: "after a rollback the jobs are", seed: actsBeside},
		{Name: "bulk acts ignore the filter", Case: "bulk/cancel-by-filter", Says: "CancelMany answered", seed: bulk(func(f *jobs.Filter) { f.Owner = "" })},
		{Name: "bulk acts ignore the limit", Case: "bulk/retry-by-filter", Says: "RetryMany answered", seed: bulk(func(f *jobs.Filter) { f.Limit = 0 })},
		{Name: "a paused queue is worked on", Case: "pause/stops-fetching-everywhere", Says: "jobs of a paused queue still run", seed: pauseIgnored},
		{Name: "a paused periodic ticks on", Case: "periodic/pause", Says: "after its pause", seed: pauseIgnored},
	}
}

// cancelIgnores makes a seed of a Cancel that only says it did, to a job in this state.
func cancelIgnores(state jobs.State) func() seed {
	return func() seed {
		return changed(func(i *inspector) {
			i.cancel = func(ctx context.Context, id jobs.JobID) (jobs.Job, error) {
				job, err := i.Inspector.Get(ctx, id)
				if err != nil || job.State != state {
					return i.Inspector.Cancel(ctx, id)
				}
				now := time.Now().UTC()
				job.State, job.FinishedAt = jobs.Cancelled, &now
				return job, nil
			}
		})
	}
}

func retryIgnoresCompleted() seed {
	return changed(func(i *inspector) {
		i.retry = func(ctx context.Context, id jobs.JobID) (jobs.Job, error) {
			job, err := i.Inspector.Get(ctx, id)
			if err != nil || job.State == jobs.Completed {
				return job, err
			}
			return i.Inspector.Retry(ctx, id)
		}
	})
}

func actsBeside() seed {
	return changed(func(i *inspector) {
		i.with = func(pgx.Tx) jobs.Inspector { return i.Inspector }
	})
}

func bulk(fn func(filter *jobs.Filter)) func() seed {
	return func() seed {
		return changed(func(i *inspector) {
			i.bulk = func(filter jobs.Filter) jobs.Filter { fn(&filter); return filter }
		})
	}
}

// pauseIgnored makes a seed of a pause that only shows.
func pauseIgnored() seed {
	return changed(func(i *inspector) {
		i.pause = func(context.Context, string) error { return nil }
		i.queue = func(status jobs.QueueStatus) jobs.QueueStatus { status.Paused = true; return status }
		i.periodic = func(status jobs.PeriodicStatus) jobs.PeriodicStatus {
			status.Paused, status.Next = true, nil
			return status
		}
	})
}
