package jobstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

const defaultPatience = 10 * time.Second

// env is what one case works with. Its methods fail the case where the adapter does not do what they ask.
type env struct {
	testing.TB
	h    Harness
	pool *pgxpool.Pool
	ctx  context.Context // of the case; ends with its cleanups
	over chan struct{}   // closed when the case is over: handlers that still block go home
	made int             // instances so far
	busy sync.WaitGroup  // what runs aside

	bystander *instance // made by pass
}

func newEnv(t testing.TB, h Harness) *env {
	t.Helper()
	if h.Patience == 0 {
		h.Patience = defaultPatience
	}
	e := &env{TB: t, h: h, pool: h.Database(t), ctx: t.Context(), over: make(chan struct{})}
	t.Cleanup(e.busy.Wait)
	return e
}

// tryNew makes an instance that need not be possible.
func (e *env) tryNew(spec Spec) (*instance, error) {
	e.Helper()
	e.made++
	spec = spec.withDefaults(fmt.Sprintf("%s-%d", e.app(spec), e.made))
	link, pool := openLink(e, e.pool)
	runtime, err := e.h.New(e, pool, spec)
	if err != nil {
		return nil, err
	}
	e.stopAtEnd(runtime, spec.Grace)
	return &instance{Runtime: runtime, link: link}, nil
}

func (e *env) app(spec Spec) string {
	if spec.App == "" {
		return defaultApp
	}
	return spec.App
}

// create makes an instance that is not started.
func (e *env) create(spec Spec) *instance {
	e.Helper()
	i, err := e.tryNew(spec)
	e.ok(err, "make an instance")
	return i
}

// start makes an instance and starts it.
func (e *env) start(spec Spec) *instance {
	e.Helper()
	i := e.create(spec)
	e.begin(i)
	return i
}

// startKinds starts an instance that declares the kinds.
func (e *env) startKinds(kinds ...jobs.Kind) *instance {
	e.Helper()
	return e.start(Spec{Kinds: kinds})
}

func (e *env) begin(i *instance) {
	e.Helper()
	e.ok(i.Start(e.ctx), "start the instance")
}

// ok ends the case where err is not nil.
func (e *env) ok(err error, doing string) {
	e.Helper()
	if err != nil {
		e.Fatalf("%s: %v", doing, err)
	}
}

// enqueue makes a job that must be possible.
func (e *env) enqueue(to jobs.Jobs, kind string, args any, opts ...jobs.EnqueueOpts) jobs.JobID {
	e.Helper()
	var o jobs.EnqueueOpts
	if len(opts) > 0 {
		o = opts[0]
	}
	id, err := to.Enqueue(e.ctx, kind, args, o)
	e.ok(err, "enqueue "+kind)
	if id == "" {
		e.Fatalf("enqueue %s: answered an empty id", kind)
	}
	return id
}

// enqueueN makes n jobs of the kind in one batch; their args are {"n": 0} and up.
func (e *env) enqueueN(to jobs.Jobs, kind string, n int, opts jobs.EnqueueOpts) []jobs.JobID {
	e.Helper()
	batch := make([]jobs.EnqueueParams, n)
	for i := range batch {
		batch[i] = jobs.EnqueueParams{Kind: kind, Args: number(i), Opts: opts}
	}
	ids, err := to.EnqueueMany(e.ctx, batch)
	e.ok(err, "enqueue a batch of "+kind)
	if len(ids) != n {
		e.Fatalf("a batch of %d answered %d ids", n, len(ids))
	}
	return ids
}

func (e *env) get(i *instance, id jobs.JobID) jobs.Job {
	e.Helper()
	job, err := i.Inspector().Get(e.ctx, id)
	e.ok(err, "get job "+string(id))
	return job
}

// eventually waits until cond holds; why says what is missing.
func (e *env) eventually(cond func() (ok bool, why string)) {
	e.Helper()
	wait.Eventually(e, e.h.Patience, cond)
}

// tick is the pause between two looks.
func (e *env) tick() {
	e.Helper()
	const pause = 20 * time.Millisecond
	select {
	case <-time.After(pause):
	case <-e.ctx.Done():
		e.Fatalf("the case was ended: %v", e.ctx.Err())
	}
}

// pass gives the adapter the time that jobs take from beginning to end, on an instance that the case does not look at.
func (e *env) pass() {
	e.Helper()
	if e.bystander == nil {
		e.bystander = e.start(Spec{App: "bystander", Kinds: []jobs.Kind{e.probe(nil).kind("bystander")}})
	}
	for n := range 3 {
		e.ends(e.bystander, e.enqueue(e.bystander, "bystander", number(n)), jobs.Completed)
	}
}

// reaches waits until the job is in one of the states, and fails as soon as it is final in another.
func (e *env) reaches(i *instance, id jobs.JobID, states ...jobs.State) jobs.Job {
	e.Helper()
	var job jobs.Job
	e.eventually(func() (bool, string) {
		job = e.get(i, id)
		return slices.Contains(states, job.State) || job.State.Final(), fmt.Sprintf("job %s is %s, want %v", id, job.State, states)
	})
	if !slices.Contains(states, job.State) {
		e.Fatalf("job %s ended as %s, want %v: %s", id, job.State, states, errorsOf(job))
	}
	return job
}

// ends waits until the job is in this final state.
func (e *env) ends(i *instance, id jobs.JobID, state jobs.State) jobs.Job {
	e.Helper()
	return e.reaches(i, id, state)
}

// endsAll waits until all the jobs are in this final state.
func (e *env) endsAll(i *instance, ids []jobs.JobID, state jobs.State) {
	e.Helper()
	for _, id := range ids {
		e.ends(i, id, state)
	}
}

// in runs fn in a transaction of the case's own and commits it, or rolls it back where fn answers false.
func (e *env) in(fn func(tx pgx.Tx) bool) {
	e.Helper()
	err := pg.InTx(e.ctx, e.pool, func(_ context.Context, tx pgx.Tx) error {
		if !fn(tx) {
			return errRolledBack
		}
		return nil
	})
	if err != nil && !errors.Is(err, errRolledBack) {
		e.Fatalf("transaction: %v", err)
	}
}

// now is the database's time.
func (e *env) now() time.Time {
	e.Helper()
	now, err := e.clock(e.ctx)
	e.ok(err, "ask for the time")
	return now
}

// clock is now for a handler, which must not fail the case.
func (e *env) clock(ctx context.Context) (now time.Time, err error) {
	err = e.pool.QueryRow(ctx, `select clock_timestamp()`).Scan(&now)
	return now, err
}

// aside runs fn beside the case, which does not end before fn has: fn must end by the end of the case or of the instances.
func (e *env) aside(fn func()) { e.busy.Go(fn) }

func errorsOf(job jobs.Job) string {
	texts, _ := json.Marshal(job.Errors)
	return string(texts)
}

func number(n int) map[string]any { return map[string]any{"n": n} }

func numberIn(args json.RawMessage) int {
	var v struct{ N int }
	_ = json.Unmarshal(args, &v)
	return v.N
}
