package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/jobstest"
)

// checkLacks shows, for every capability that the adapter has, that one which refuses it cleanly passes, and one that
// is said to lack it and does something all the same does not.
func checkLacks(t *testing.T, h jobstest.Harness) {
	for _, capability := range jobstest.Capabilities() {
		t.Run(string(capability), func(t *testing.T) {
			t.Parallel()
			c := jobstest.Lacking(capability)
			if r := record(t, func(t testing.TB) { c.Check(t, refusing(h, capability)) }); r.Failed() {
				t.Errorf("an adapter that refuses it cleanly fails:\n%s", r.text())
			}
			if r := record(t, func(t testing.TB) { c.Check(t, h) }); !r.Failed() {
				t.Errorf("an adapter that says it lacks it, and does it, passes")
			}
		})
	}
}

// refusing answers the harness of an adapter that lacks the capability and says so when it is asked for.
func refusing(h jobstest.Harness, lacks jobstest.Capability) jobstest.Harness {
	build := h.New
	h.New = func(t testing.TB, pool *pgxpool.Pool, spec jobstest.Spec) (jobs.Runtime, error) {
		if lacks == jobstest.Periodics && len(spec.Periodics) > 0 {
			return nil, refuse(lacks)
		}
		if lacks == jobstest.External && slices.ContainsFunc(spec.Kinds, func(k jobs.Kind) bool { return k.External }) {
			return nil, refuse(lacks)
		}
		runtime, err := build(t, pool, spec)
		if err != nil {
			return nil, err
		}
		s := seed{
			inspect: func(whole jobs.Inspector) jobs.Inspector { return without{Inspector: whole, lacks: lacks} },
			enqueue: func(ctx context.Context, to jobs.Jobs, _ jobs.Inspector, batch []jobs.EnqueueParams) ([]jobs.JobID, error) {
				for _, p := range batch {
					if p.Opts.UniqueByArgs && lacks == jobstest.UniqueByArgs {
						return nil, refuse(lacks)
					}
				}
				return to.EnqueueMany(ctx, batch)
			},
		}
		return &bent{Runtime: runtime, seed: s}, nil
	}
	return h
}

func refuse(lacks jobstest.Capability) error {
	return fmt.Errorf("%s: %w", lacks, errors.ErrUnsupported)
}

// without is an Inspector that lacks a capability.
type without struct {
	jobs.Inspector
	lacks jobstest.Capability
}

// refuses answers the error where this is what is lacking.
func (w without) refuses(asked jobstest.Capability, needed bool) error {
	if needed && w.lacks == asked {
		return refuse(asked)
	}
	return nil
}

func (w without) With(tx pgx.Tx) jobs.Inspector {
	return without{Inspector: w.Inspector.With(tx), lacks: w.lacks}
}

func (w without) Cancel(ctx context.Context, id jobs.JobID) (jobs.Job, error) {
	job, err := w.Get(ctx, id)
	if err != nil {
		return job, err
	}
	if err := w.refuses(jobstest.CancelRunning, job.State == jobs.Running); err != nil {
		return job, err
	}
	return w.Inspector.Cancel(ctx, id)
}

func (w without) List(ctx context.Context, filter jobs.Filter) (jobs.Page, error) {
	if err := w.refuses(jobstest.FilterArgs, filter.Args != nil); err != nil {
		return jobs.Page{}, err
	}
	return w.Inspector.List(ctx, filter)
}

func (w without) Count(ctx context.Context, filter jobs.Filter) (jobs.Count, error) {
	if err := w.refuses(jobstest.FilterArgs, filter.Args != nil); err != nil {
		return jobs.Count{}, err
	}
	return w.Inspector.Count(ctx, filter)
}

func (w without) ListIDs(ctx context.Context, filter jobs.Filter) (jobs.IDPage, error) {
	if err := w.refuses(jobstest.FilterArgs, filter.Args != nil); err != nil {
		return jobs.IDPage{}, err
	}
	return w.Inspector.ListIDs(ctx, filter)
}

func (w without) CancelMany(ctx context.Context, filter jobs.Filter) (int, error) {
	if err := w.refuses(jobstest.FilterArgs, filter.Args != nil); err != nil {
		return 0, err
	}
	return w.Inspector.CancelMany(ctx, filter)
}

func (w without) Pause(ctx context.Context, queue string) error {
	if err := w.refuses(jobstest.PauseQueues, true); err != nil {
		return err
	}
	return w.Inspector.Pause(ctx, queue)
}

func (w without) Resume(ctx context.Context, queue string) error {
	if err := w.refuses(jobstest.PauseQueues, true); err != nil {
		return err
	}
	return w.Inspector.Resume(ctx, queue)
}

func (w without) RunPeriodic(ctx context.Context, app, name string) (jobs.JobID, error) {
	if err := w.refuses(jobstest.Periodics, true); err != nil {
		return "", err
	}
	return w.Inspector.RunPeriodic(ctx, app, name)
}

func (w without) PausePeriodic(ctx context.Context, app, name string) error {
	if err := w.refuses(jobstest.Periodics, true); err != nil {
		return err
	}
	return w.Inspector.PausePeriodic(ctx, app, name)
}
