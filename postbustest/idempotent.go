package postbustest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	// redeliveries is how often a handler that fails is handed the same again, as a job's attempts would.
	redeliveries = 8
	// maxCuts is at how many places a handler is cut off.
	maxCuts = 12
	// atOnce is how many run side by side.
	atOnce = 4
)

// RequireIdempotent says whether a handler may be handed the same more than once, as every subscription and kind is. delivered is
// the event, or a job's args. world is called for each scenario: it makes a fresh state, for instance a database of its own, and
// answers the handler over it and what looks at the effect: rows, mails, calls that were counted. The effect of one run is what
// every scenario must come to:
//
//   - two runs, one after the other;
//   - four at once;
//   - a run that is cancelled half way, then one that is not: it is cancelled where it first asks its context, then where it asks
//     for the second time, and so on, at 12 places at most. A handler that never asks is never cancelled.
//
// A run that fails is made again, 8 times at most. Effects are compared by go-cmp.
func RequireIdempotent[T, E any](t testing.TB, delivered T, world func(t testing.TB) (handle func(context.Context, T) error, effect func(context.Context) E)) {
	t.Helper()
	scenario := func(name string, run func(handle func(context.Context) error)) E {
		handle, effect := world(t)
		run(func(ctx context.Context) error { return handle(ctx, delivered) })
		if err := settle(func(ctx context.Context) error { return handle(ctx, delivered) }); err != nil {
			t.Fatalf("%s: the handler fails each time: %v", name, err)
		}
		return effect(context.Background())
	}
	once := scenario("once", func(func(context.Context) error) {})
	hold := func(name string, got E) {
		t.Helper()
		if diff := cmp.Diff(once, got); diff != "" {
			t.Fatalf("not idempotent: %s comes to another effect than one run (-one run +%s):\n%s", name, name, diff)
		}
	}
	hold("two runs", scenario("two runs", func(handle func(context.Context) error) { _ = settle(handle) }))
	hold("four at once", scenario("four at once", func(handle func(context.Context) error) {
		var all sync.WaitGroup
		for range atOnce {
			all.Go(func() { _ = handle(context.Background()) })
		}
		all.Wait()
	}))
	for n := 1; n <= maxCuts; n++ {
		cut := newCut(n)
		name := fmt.Sprintf("a run cancelled at place %d", n)
		got := scenario(name, func(handle func(context.Context) error) { _ = handle(cut) })
		cut.cancel()
		hold(name, got)
		if !cut.happened() {
			return
		}
	}
}

// settle hands the same again until it is handled.
func settle(handle func(context.Context) error) (err error) {
	for range redeliveries {
		if err = handle(context.Background()); err == nil {
			return nil
		}
	}
	return err
}

// cut is a context that ends when it is asked for the nth time.
type cut struct {
	context.Context
	cancel func()

	mu   sync.Mutex
	left int
}

func newCut(n int) *cut {
	ctx, cancel := context.WithCancel(context.Background())
	return &cut{Context: ctx, cancel: cancel, left: n}
}

func (c *cut) ask() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left == 0 {
		c.cancel()
	}
}

func (c *cut) happened() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left <= 0
}

// Deadline is none.
func (c *cut) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done counts.
func (c *cut) Done() <-chan struct{} {
	c.ask()
	return c.Context.Done()
}

// Err counts.
func (c *cut) Err() error {
	c.ask()
	return c.Context.Err()
}
