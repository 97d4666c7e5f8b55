package faults

import (
	"context"
	"errors"
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
		{Name: "bulk acknowledge ignores the limit", Case: "bulk/acknowledge-by-filter", Says: "AcknowledgeMany answered", seed: bulk(func(f *jobs.Filter) { f.Limit = 0 })},
		{Name: "bulk acknowledge ignores the ids", Case: "bulk/acknowledge-by-filter", Says: "discarded jobs that nobody acknowledged", seed: bulk(func(f *jobs.Filter) { f.IDs = nil })},
		{Name: "Count ignores the owner", Case: "bulk/count-by-filter", Says: "Count of jobs an owner's", seed: bulk(func(f *jobs.Filter) { f.Owner = "" })},
		{Name: "Count ignores the limit", Case: "bulk/count-by-filter", Says: "more than the limit", seed: bulk(func(f *jobs.Filter) { f.Limit = 0 })},
		{Name: "ListIDs skips an id at a page edge", Case: "bulk/ids-by-filter", Says: "ListIDs answered", seed: skipsAnID},
		{Name: "ListIDs takes a filter that cannot be meant", Case: "bulk/bad-filter-refused", Says: "ListIDs of a filter", seed: takesAnyFilter},
		{Name: "bulk retry stops at what cannot be retried", Case: "bulk/passes-what-cannot-be-retried", Says: "RetryMany changed 0 jobs", seed: stopsAtBlocked},
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

func skipsAnID() seed {
	return changed(func(i *inspector) {
		i.ids = func(ctx context.Context, filter jobs.Filter) (jobs.IDPage, error) {
			page, err := i.Inspector.ListIDs(ctx, filter)
			if filter.Cursor != "" && len(page.IDs) > 0 {
				page.IDs = page.IDs[1:]
			}
			return page, err
		}
	})
}

func takesAnyFilter() seed {
	return changed(func(i *inspector) {
		i.ids = func(ctx context.Context, filter jobs.Filter) (jobs.IDPage, error) {
			page, err := i.Inspector.ListIDs(ctx, filter)
			if errors.Is(err, jobs.ErrInvalid) {
				return jobs.IDPage{}, nil
			}
			return page, err
		}
	})
}

// stopsAtBlocked makes a seed of a RetryMany that tries the newest jobs which match and looks no further.
func stopsAtBlocked() seed {
	return changed(func(i *inspector) {
		i.retries = func(ctx context.Context, filter jobs.Filter) (int, error) {
			page, err := i.Inspector.ListIDs(ctx, filter)
			if err != nil || len(page.IDs) == 0 {
				return 0, err
			}
			return i.Inspector.RetryMany(ctx, jobs.Filter{IDs: page.IDs, States: filter.States})
		}
	})
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
