package faults

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/jobs"
)

// inspector is an Inspector of which single methods are replaced.
type inspector struct {
	jobs.Inspector
	with     func(tx pgx.Tx) jobs.Inspector
	overview func(o jobs.Overview) jobs.Overview
	job      func(job jobs.Job) jobs.Job // as Get shows it
	list     func(ctx context.Context, filter jobs.Filter) (jobs.Page, error)
	retry    func(ctx context.Context, id jobs.JobID) (jobs.Job, error)
	cancel   func(ctx context.Context, id jobs.JobID) (jobs.Job, error)
	bulk     func(filter jobs.Filter) jobs.Filter
	retries  func(ctx context.Context, filter jobs.Filter) (int, error) // RetryMany
	ids      func(ctx context.Context, filter jobs.Filter) (jobs.IDPage, error)
	left     func(ids []jobs.JobID) []jobs.JobID // of Unfinished
	periodic func(status jobs.PeriodicStatus) jobs.PeriodicStatus
	pause    func(ctx context.Context, name string) error // of a queue or a periodic
	queue    func(status jobs.QueueStatus) jobs.QueueStatus
}

// changed makes a seed of an inspector of which fn replaces something.
func changed(fn func(i *inspector)) seed {
	return seed{inspect: func(whole jobs.Inspector) jobs.Inspector {
		i := &inspector{Inspector: whole}
		fn(i)
		return i
	}}
}

func (i *inspector) With(tx pgx.Tx) jobs.Inspector {
	if i.with != nil {
		return i.with(tx)
	}
	in := *i
	in.Inspector = i.Inspector.With(tx)
	return &in
}

func (i *inspector) Overview(ctx context.Context, kind string) (jobs.Overview, error) {
	o, err := i.Inspector.Overview(ctx, kind)
	if i.overview != nil {
		o = i.overview(o)
	}
	return o, err
}

func (i *inspector) Get(ctx context.Context, id jobs.JobID) (jobs.Job, error) {
	job, err := i.Inspector.Get(ctx, id)
	if i.job != nil {
		job = i.job(job)
	}
	return job, err
}

func (i *inspector) List(ctx context.Context, filter jobs.Filter) (jobs.Page, error) {
	if i.list != nil {
		return i.list(ctx, filter)
	}
	return i.Inspector.List(ctx, filter)
}

func (i *inspector) Retry(ctx context.Context, id jobs.JobID) (jobs.Job, error) {
	if i.retry != nil {
		return i.retry(ctx, id)
	}
	return i.Inspector.Retry(ctx, id)
}

func (i *inspector) Cancel(ctx context.Context, id jobs.JobID) (jobs.Job, error) {
	if i.cancel != nil {
		return i.cancel(ctx, id)
	}
	return i.Inspector.Cancel(ctx, id)
}

func (i *inspector) filter(filter jobs.Filter) jobs.Filter {
	if i.bulk != nil {
		return i.bulk(filter)
	}
	return filter
}

func (i *inspector) Count(ctx context.Context, filter jobs.Filter) (jobs.Count, error) {
	return i.Inspector.Count(ctx, i.filter(filter))
}

func (i *inspector) ListIDs(ctx context.Context, filter jobs.Filter) (jobs.IDPage, error) {
	if i.ids != nil {
		return i.ids(ctx, filter)
	}
	return i.Inspector.ListIDs(ctx, filter)
}

func (i *inspector) AcknowledgeMany(ctx context.Context, filter jobs.Filter) (int, error) {
	return i.Inspector.AcknowledgeMany(ctx, i.filter(filter))
}

func (i *inspector) RetryMany(ctx context.Context, filter jobs.Filter) (int, error) {
	if i.retries != nil {
		return i.retries(ctx, filter)
	}
	return i.Inspector.RetryMany(ctx, i.filter(filter))
}

func (i *inspector) CancelMany(ctx context.Context, filter jobs.Filter) (int, error) {
	return i.Inspector.CancelMany(ctx, i.filter(filter))
}

func (i *inspector) Unfinished(ctx context.Context, ids []jobs.JobID) ([]jobs.JobID, error) {
	got, err := i.Inspector.Unfinished(ctx, ids)
	if i.left != nil {
		got = i.left(got)
	}
	return got, err
}

func (i *inspector) Periodics(ctx context.Context) ([]jobs.PeriodicStatus, error) {
	all, err := i.Inspector.Periodics(ctx)
	if i.periodic != nil {
		for n := range all {
			all[n] = i.periodic(all[n])
		}
	}
	return all, err
}

func (i *inspector) PausePeriodic(ctx context.Context, app, name string) error {
	if i.pause != nil {
		return i.pause(ctx, name)
	}
	return i.Inspector.PausePeriodic(ctx, app, name)
}

func (i *inspector) Pause(ctx context.Context, queue string) error {
	if i.pause != nil {
		return i.pause(ctx, queue)
	}
	return i.Inspector.Pause(ctx, queue)
}

func (i *inspector) Queues(ctx context.Context) ([]jobs.QueueStatus, error) {
	all, err := i.Inspector.Queues(ctx)
	if i.queue != nil {
		for n := range all {
			all[n] = i.queue(all[n])
		}
	}
	return all, err
}
