package postbustest_test

import (
	"context"
	"sync"
	"testing"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/postbustest"
)

// ledger is what a handler works on.
type ledger struct {
	mu     sync.Mutex
	booked map[string]int
	marked map[string]bool
}

func (l *ledger) book(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.booked[id]++
}

func (l *ledger) mark(id string) { l.mu.Lock(); defer l.mu.Unlock(); l.marked[id] = true }

func (l *ledger) done(id string) bool { l.mu.Lock(); defer l.mu.Unlock(); return l.marked[id] }

func (l *ledger) effect(context.Context) map[string]int { return l.booked }

type handler = func(context.Context, *ledger, events.Event) error

// An application's test of its handler: the event's id is the key of what must happen once.
func TestRequireIdempotent(t *testing.T) {
	t.Parallel()
	postbustest.RequireIdempotent(t, events.Event{ID: "1"}, world(func(ctx context.Context, l *ledger, e events.Event) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.booked[e.ID] = 1999
		return ctx.Err()
	}))
}

func world(handle handler) func(testing.TB) (func(context.Context, events.Event) error, func(context.Context) map[string]int) {
	return func(testing.TB) (func(context.Context, events.Event) error, func(context.Context) map[string]int) {
		l := &ledger{booked: map[string]int{}, marked: map[string]bool{}}
		return func(ctx context.Context, e events.Event) error { return handle(ctx, l, e) }, l.effect
	}
}

// Each kind of handler that is not idempotent fails the test: one that adds, one that checks before it acts, one that is cancelled
// between the act and the mark.
func TestRequireIdempotentFailsForWhatIsNot(t *testing.T) {
	t.Parallel()
	var together sync.WaitGroup
	together.Add(4)
	runs := 0
	for name, handle := range map[string]handler{
		"adds": func(_ context.Context, l *ledger, e events.Event) error { l.book(e.ID); return nil },
		"acts, then marks": func(ctx context.Context, l *ledger, e events.Event) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.marked[e.ID] {
				return nil
			}
			l.booked[e.ID]++
			if ctx.Err() != nil {
				return ctx.Err()
			}
			l.marked[e.ID] = true
			return nil
		},
		"checks, then acts": func(_ context.Context, l *ledger, e events.Event) error {
			seen := l.done(e.ID)
			l.mu.Lock()
			runs++
			side := runs > 3 && runs <= 7 // once is one run, two runs are two; then come four at once
			l.mu.Unlock()
			if side {
				together.Done()
				together.Wait()
			}
			if !seen {
				l.book(e.ID)
				l.mark(e.ID)
			}
			return nil
		},
	} {
		inner := &failing{TB: t}
		done := make(chan struct{})
		go func() { // Fatalf ends the goroutine
			defer close(done)
			postbustest.RequireIdempotent(inner, events.Event{ID: "1"}, world(handle))
		}()
		<-done
		if !inner.failed {
			t.Errorf("a handler that %s was taken for idempotent", name)
		}
	}
}
