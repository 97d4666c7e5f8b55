package faults

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/jobstest"
)

// seed is what a fault changes between the suite and the adapter. What is nil is passed on as it is.
type seed struct {
	// spec changes what an instance declares.
	spec func(spec jobstest.Spec) jobstest.Spec
	// handle changes how a handler is called.
	handle func(next jobs.Handler) jobs.Handler
	// tick changes how a periodic is called.
	tick func(next func(ctx context.Context) error) func(ctx context.Context) error
	// params changes one job to be made, in Enqueue and in a batch.
	params func(p jobs.EnqueueParams) jobs.EnqueueParams
	// enqueue makes the jobs in place of the adapter; all is the way to everything else.
	enqueue func(ctx context.Context, to jobs.Jobs, all jobs.Inspector, batch []jobs.EnqueueParams) ([]jobs.JobID, error)
	// with is Jobs.With.
	with func(whole jobs.Jobs, tx pgx.Tx) jobs.Jobs
	// inspect changes the Inspector.
	inspect func(whole jobs.Inspector) jobs.Inspector
	// leases changes the Leases.
	leases func(whole jobs.Leases) jobs.Leases
	// wait is Wait; next is the adapter's.
	wait func(ctx context.Context, next waitFunc, id jobs.JobID, max time.Duration) (jobs.State, bool)
	// stop is Stop; next is the adapter's.
	stop func(ctx context.Context, next func(context.Context) error) error
	// deathless makes killing an instance do nothing.
	deathless bool
}

type waitFunc func(ctx context.Context, id jobs.JobID, max time.Duration) (jobs.State, bool)

// into answers the harness with the seed in every instance that it makes.
func (s seed) into(h jobstest.Harness) jobstest.Harness {
	database, build := h.Database, h.New
	var whole *pgxpool.Pool
	h.Database = func(t testing.TB) *pgxpool.Pool {
		whole = database(t)
		return whole
	}
	h.New = func(t testing.TB, pool *pgxpool.Pool, spec jobstest.Spec) (jobs.Runtime, error) {
		if s.deathless {
			pool = whole
		}
		runtime, err := build(t, pool, s.declare(spec))
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = runtime.Stop(context.WithoutCancel(t.Context())) })
		return &bent{Runtime: runtime, seed: s}, nil
	}
	return h
}

func (s seed) declare(spec jobstest.Spec) jobstest.Spec {
	kinds, periodics := spec.Kinds, spec.Periodics
	spec.Kinds, spec.Periodics = nil, nil
	for _, kind := range kinds {
		if s.handle != nil && !kind.External {
			kind.Handle = s.handle(kind.Handle)
		}
		spec.Kinds = append(spec.Kinds, kind)
	}
	for _, periodic := range periodics {
		if s.tick != nil {
			periodic.Run = s.tick(periodic.Run)
		}
		spec.Periodics = append(spec.Periodics, periodic)
	}
	if s.spec != nil {
		spec = s.spec(spec)
	}
	return spec
}

// bent is a runtime with a seed in it.
type bent struct {
	jobs.Runtime
	seed seed
}

func (b *bent) jobs() *bentJobs {
	return &bentJobs{Jobs: b.Runtime, seed: b.seed, all: b.Runtime.Inspector()}
}

func (b *bent) With(tx pgx.Tx) jobs.Jobs { return b.jobs().With(tx) }

func (b *bent) Enqueue(ctx context.Context, kind string, args any, opts jobs.EnqueueOpts) (jobs.JobID, error) {
	return b.jobs().Enqueue(ctx, kind, args, opts)
}

func (b *bent) EnqueueMany(ctx context.Context, batch []jobs.EnqueueParams) ([]jobs.JobID, error) {
	return b.jobs().EnqueueMany(ctx, batch)
}

func (b *bent) Inspector() jobs.Inspector {
	if b.seed.inspect == nil {
		return b.Runtime.Inspector()
	}
	return b.seed.inspect(b.Runtime.Inspector())
}

func (b *bent) Leases() jobs.Leases {
	if b.seed.leases == nil {
		return b.Runtime.Leases()
	}
	return b.seed.leases(b.Runtime.Leases())
}

func (b *bent) Wait(ctx context.Context, id jobs.JobID, max time.Duration) (jobs.State, bool) {
	if b.seed.wait == nil {
		return b.Runtime.Wait(ctx, id, max)
	}
	return b.seed.wait(ctx, b.Runtime.Wait, id, max)
}

func (b *bent) Stop(ctx context.Context) error {
	if b.seed.stop == nil {
		return b.Runtime.Stop(ctx)
	}
	return b.seed.stop(ctx, b.Runtime.Stop)
}

// bentJobs makes jobs with a seed in it.
type bentJobs struct {
	jobs.Jobs
	seed seed
	all  jobs.Inspector
}

func (b *bentJobs) With(tx pgx.Tx) jobs.Jobs {
	in := b.Jobs.With(tx)
	if b.seed.with != nil {
		in = b.seed.with(b.Jobs, tx)
	}
	return &bentJobs{Jobs: in, seed: b.seed, all: b.all.With(tx)}
}

func (b *bentJobs) Enqueue(ctx context.Context, kind string, args any, opts jobs.EnqueueOpts) (jobs.JobID, error) {
	p := jobs.EnqueueParams{Kind: kind, Args: args, Opts: opts}
	if b.seed.params != nil {
		p = b.seed.params(p)
	}
	if b.seed.enqueue == nil {
		return b.Jobs.Enqueue(ctx, p.Kind, p.Args, p.Opts)
	}
	ids, err := b.seed.enqueue(ctx, b.Jobs, b.all, []jobs.EnqueueParams{p})
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

func (b *bentJobs) EnqueueMany(ctx context.Context, batch []jobs.EnqueueParams) ([]jobs.JobID, error) {
	changed := make([]jobs.EnqueueParams, len(batch))
	for n, p := range batch {
		if b.seed.params != nil {
			p = b.seed.params(p)
		}
		changed[n] = p
	}
	if b.seed.enqueue == nil {
		return b.Jobs.EnqueueMany(ctx, changed)
	}
	return b.seed.enqueue(ctx, b.Jobs, b.all, changed)
}

// runs makes a seed of a handler that is called in another way.
func runs(fn func(ctx context.Context, next jobs.Handler, args json.RawMessage) error) seed {
	return seed{handle: func(next jobs.Handler) jobs.Handler {
		return func(ctx context.Context, args json.RawMessage) error { return fn(ctx, next, args) }
	}}
}
