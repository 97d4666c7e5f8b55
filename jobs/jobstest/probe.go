package jobstest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/postbus/postbus/jobs"
)

var errRolledBack = errors.New("rolled back on purpose")

// run is one run of a probe's handler.
type run struct {
	N    int // 1 for the probe's first run
	Args json.RawMessage
	At   time.Time
}

// probe is a handler that tells the case about each of its runs.
type probe struct {
	e    *env
	act  func(ctx context.Context, r run) error
	runs chan run

	mu  sync.Mutex
	all []run
}

// probe makes a handler that does act, or nothing and completes where act is nil.
func (e *env) probe(act func(ctx context.Context, r run) error) *probe {
	const manyRuns = 4096
	return &probe{e: e, act: act, runs: make(chan run, manyRuns)}
}

// sequence makes a handler whose runs end as the list says, and well from then on.
func (e *env) sequence(ends ...error) *probe {
	return e.probe(func(_ context.Context, r run) error {
		if r.N <= len(ends) {
			return ends[r.N-1]
		}
		return nil
	})
}

// kind declares the probe: on a queue named as the kind, with a Backoff that does not hold the case up.
func (p *probe) kind(name string) jobs.Kind {
	return jobs.Kind{
		Name: name, Queue: name, Handle: p.handle,
		Backoff: func(int) time.Duration { return 10 * time.Millisecond },
	}
}

func (p *probe) handle(ctx context.Context, args json.RawMessage) error {
	r := p.record(args)
	p.runs <- r
	if p.act == nil {
		return nil
	}
	return p.act(ctx, r)
}

func (p *probe) record(args json.RawMessage) run {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := run{N: len(p.all) + 1, Args: args, At: time.Now()}
	p.all = append(p.all, r)
	return r
}

// next waits for the next run to begin.
func (p *probe) next() run {
	p.e.Helper()
	select {
	case r := <-p.runs:
		return r
	case <-time.After(p.e.h.Patience):
		p.e.Fatalf("no run began within %s, after %d of them", p.e.h.Patience, p.count())
		return run{}
	}
}

func (p *probe) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all)
}

// ran fails the case where the handler did not run exactly n times.
func (p *probe) ran(n int) {
	p.e.Helper()
	if got := p.count(); got != n {
		p.e.Errorf("the handler ran %d times, want %d", got, n)
	}
}

// gate holds handlers up until the case opens it. It opens by itself when the case is over.
type gate struct {
	e    *env
	once sync.Once
	open chan struct{}
}

func (e *env) gate() *gate { return &gate{e: e, open: make(chan struct{})} }

func (g *gate) release() { g.once.Do(func() { close(g.open) }) }

// pass answers nil once the gate is open, or ctx's error where that ends first.
func (g *gate) pass(ctx context.Context) error {
	select {
	case <-g.open:
		return nil
	case <-g.e.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// passDeaf is pass for a handler that does not listen to its context.
func (g *gate) passDeaf() { _ = g.pass(context.Background()) }

// soon waits for a signal of a handler.
func soon[T any](e *env, signal <-chan T, what string) T {
	e.Helper()
	select {
	case v := <-signal:
		return v
	case <-time.After(e.h.Patience):
		e.Fatalf("not within %s: %s", e.h.Patience, what)
		panic("unreachable")
	}
}
