package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// making are faults of the way in.
func making() []Fault {
	return []Fault{
		{Name: "a job survives a rollback", Case: "transaction/rollback-leaves-nothing", Says: "survived the rollback", seed: besideTheTransaction},
		{Name: "a job is made before the commit", Case: "transaction/nothing-before-commit", Says: "seen before its commit", seed: besideTheTransaction},
		{Name: "a job is lost on commit", Case: "transaction/commit-makes-it", Says: "lost on commit", seed: lostOnCommit},
		{Name: "a job runs before its RunAt", Case: "schedule/not-before", Says: "before its RunAt", seed: param(func(p *jobs.EnqueueParams) { p.Opts.RunAt = time.Time{} })},
		{Name: "RunAt loses sub-second precision", Case: "schedule/to-the-microsecond", Says: "is kept as", seed: param(func(p *jobs.EnqueueParams) {
			p.Opts.RunAt = p.Opts.RunAt.Truncate(time.Second)
		})},
		{Name: "args reach the handler changed", Case: "payload/args-unchanged", Says: "the handler got (-enqueued +got)", seed: param(throughFloats)},
		{Name: "NUL is taken", Case: "payload/unstorable-text-refused", Says: "want ErrInvalid", seed: param(func(p *jobs.EnqueueParams) {
			if raw, ok := p.Args.(json.RawMessage); ok {
				p.Args = json.RawMessage(bytes.ReplaceAll(raw, []byte(`\u0000`), nil))
			}
		})},
		{Name: "an unknown kind is taken", Case: "enqueue/unknown-kind-refused", Says: "want ErrUnknownKind", seed: param(func(p *jobs.EnqueueParams) {
			p.Opts.Queue, p.Opts.MaxAttempts = "default", 1
		})},
		{Name: "a batch is half made", Case: "enqueue/batch-all-or-none", Says: "want none", seed: enqueueing(oneByOne)},
		{Name: "a batch answers out of order", Case: "enqueue/batch-in-order", Says: "of the batch names the job", seed: enqueueing(backwards)},
		{Name: "unique ignores args", Case: "unique/other-args", Says: "answered with the job of", seed: uniqueByKind},
		{Name: "unique ignores running work", Case: "unique/while-unfinished", Says: "while the job is running, a duplicate answered", seed: enqueueing(beside(jobs.Running))},
		{Name: "unique ignores completed work", Case: "unique/completed", Says: "a duplicate of a completed job answered", seed: enqueueing(beside(jobs.Completed))},
		{Name: "duplicates in a batch are two", Case: "unique/in-one-batch", Says: "answered [", seed: enqueueing(twinsInBatch)},
		{Name: "an attempt made elsewhere is forgotten", Case: "ran/failed", Says: "want retryable after 1", seed: param(func(p *jobs.EnqueueParams) { p.Opts.Ran = nil })},
		{Name: "a discard made elsewhere retries", Case: "ran/failed-for-good", Says: "want [discarded]", seed: param(func(p *jobs.EnqueueParams) {
			if jobs.IsDiscard(p.Opts.Ran) {
				p.Opts.Ran = errors.New(p.Opts.Ran.Error())
			}
		})},
		{Name: "a discarded job stands in the way", Case: "unique/discarded-frees", Says: "of one that was discarded", seed: uniqueForEver},
	}
}

// param makes a seed that changes every job to be made.
func param(fn func(p *jobs.EnqueueParams)) func() seed {
	return func() seed {
		return seed{params: func(p jobs.EnqueueParams) jobs.EnqueueParams { fn(&p); return p }}
	}
}

type enqueueFunc func(ctx context.Context, to jobs.Jobs, all jobs.Inspector, batch []jobs.EnqueueParams) ([]jobs.JobID, error)

func enqueueing(fn enqueueFunc) func() seed { return func() seed { return seed{enqueue: fn} } }

func besideTheTransaction() seed {
	return seed{with: func(whole jobs.Jobs, _ pgx.Tx) jobs.Jobs { return whole }}
}

var errUndone = errors.New("undone")

// lostJobs makes jobs in a savepoint and rolls back to it.
type lostJobs struct {
	whole jobs.Jobs
	tx    pgx.Tx
}

func lostOnCommit() seed {
	return seed{with: func(whole jobs.Jobs, tx pgx.Tx) jobs.Jobs { return lostJobs{whole: whole, tx: tx} }}
}

func (l lostJobs) With(tx pgx.Tx) jobs.Jobs { return lostJobs{whole: l.whole, tx: tx} }

func (l lostJobs) Enqueue(ctx context.Context, kind string, args any, opts jobs.EnqueueOpts) (jobs.JobID, error) {
	ids, err := l.EnqueueMany(ctx, []jobs.EnqueueParams{{Kind: kind, Args: args, Opts: opts}})
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

func (l lostJobs) EnqueueMany(ctx context.Context, batch []jobs.EnqueueParams) (ids []jobs.JobID, err error) {
	err = pg.Nested(ctx, l.tx, func(ctx context.Context, tx pgx.Tx) error {
		if ids, err = l.whole.With(tx).EnqueueMany(ctx, batch); err != nil {
			return err
		}
		return errUndone
	})
	if errors.Is(err, errUndone) {
		err = nil
	}
	return ids, err
}

// throughFloats does to args what decoding them into any and encoding them again does.
func throughFloats(p *jobs.EnqueueParams) {
	raw, ok := p.Args.(json.RawMessage)
	if !ok {
		return
	}
	var v any
	if json.Unmarshal(raw, &v) == nil {
		p.Args = v
	}
}

func oneByOne(ctx context.Context, to jobs.Jobs, _ jobs.Inspector, batch []jobs.EnqueueParams) (ids []jobs.JobID, err error) {
	for _, p := range batch {
		id, err := to.Enqueue(ctx, p.Kind, p.Args, p.Opts)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func backwards(ctx context.Context, to jobs.Jobs, _ jobs.Inspector, batch []jobs.EnqueueParams) ([]jobs.JobID, error) {
	ids, err := to.EnqueueMany(ctx, batch)
	slices.Reverse(ids)
	return ids, err
}

// beside makes a second job where the one that stands is in the state.
func beside(state jobs.State) enqueueFunc {
	return func(ctx context.Context, to jobs.Jobs, all jobs.Inspector, batch []jobs.EnqueueParams) ([]jobs.JobID, error) {
		ids, err := to.EnqueueMany(ctx, batch)
		for n, id := range ids {
			if job, err := all.Get(ctx, id); err == nil && job.State == state && batch[n].Opts.UniqueByArgs {
				batch[n].Opts.UniqueByArgs = false
				if ids[n], err = to.Enqueue(ctx, batch[n].Kind, batch[n].Args, batch[n].Opts); err != nil {
					return nil, err
				}
			}
		}
		return ids, err
	}
}

// twinsInBatch takes every entry of a batch for unlike the others.
func twinsInBatch(ctx context.Context, to jobs.Jobs, _ jobs.Inspector, batch []jobs.EnqueueParams) ([]jobs.JobID, error) {
	for n := range batch {
		batch[n].Opts.UniqueByArgs = batch[n].Opts.UniqueByArgs && n == 0
	}
	return to.EnqueueMany(ctx, batch)
}

func uniqueByKind() seed {
	return remembering(func(p jobs.EnqueueParams) string { return p.Kind })
}

func uniqueForEver() seed {
	return remembering(func(p jobs.EnqueueParams) string { return fmt.Sprint(p.Kind, p.Args) })
}

// remembering answers a unique job with the first that had the same key, whatever became of it.
func remembering(key func(p jobs.EnqueueParams) string) seed {
	var mu sync.Mutex
	first := map[string]jobs.JobID{}
	return seed{enqueue: func(ctx context.Context, to jobs.Jobs, all jobs.Inspector, batch []jobs.EnqueueParams) ([]jobs.JobID, error) {
		mu.Lock()
		defer mu.Unlock()
		for _, p := range batch {
			if id, known := first[key(p)]; known && p.Opts.UniqueByArgs {
				return slices.Repeat([]jobs.JobID{id}, len(batch)), nil
			}
		}
		ids, err := to.EnqueueMany(ctx, batch)
		if err == nil && batch[0].Opts.UniqueByArgs {
			first[key(batch[0])] = ids[0]
		}
		return ids, err
	}}
}
