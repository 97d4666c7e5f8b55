package loop

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
)

// Runner runs one function in one goroutine between Start and Stop.
// The zero value is ready for use. A Runner must not be copied.
type Runner struct {
	// Name says in the log which loop panicked. Defaults to "loop".
	Name string
	// Log receives panics. Defaults to slog.Default().
	Log *slog.Logger

	mu      sync.Mutex
	current *run
}

// run is one Start of a Runner.
type run struct {
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // closed when the function has returned
}

// Start calls fn in its own goroutine. The context that fn gets carries the values of ctx and is
// cancelled by Stop, or together with ctx. While an earlier fn still runs and was not told to end,
// Start does nothing; an fn that is on its way out is waited for, in the new goroutine.
// Each Start that does something calls its fn once, also when Stop comes so early that fn finds its
// context cancelled.
func (r *Runner) Start(ctx context.Context, fn func(ctx context.Context)) {
	r.mu.Lock()
	defer r.mu.Unlock()

	previous := r.current
	if previous != nil && previous.alive() {
		return
	}
	next := &run{done: make(chan struct{})}
	next.ctx, next.cancel = context.WithCancel(ctx)
	r.current = next

	go func() {
		defer close(next.done)
		defer next.cancel()
		if previous != nil {
			<-previous.done
		}
		if err := guard(next.ctx, func(ctx context.Context) error { fn(ctx); return nil }); err != nil {
			r.logger().ErrorContext(ctx, "loop ended by a panic", "loop", r.name(), "error", err)
		}
	}()
}

// Stop cancels the function's context and waits until the function has returned.
func (r *Runner) Stop() {
	r.mu.Lock()
	current := r.current
	r.mu.Unlock()
	if current == nil {
		return
	}
	current.cancel()
	<-current.done
}

func (r *Runner) logger() *slog.Logger {
	if r.Log == nil {
		return slog.Default()
	}
	return r.Log
}

func (r *Runner) name() string {
	if r.Name == "" {
		return "loop"
	}
	return r.Name
}

func (r *run) alive() bool {
	select {
	case <-r.done:
		return false
	default:
		return r.ctx.Err() == nil
	}
}

// PanicError is a panic caught in a loop.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// guard turns a panic of fn into a *PanicError.
func guard(ctx context.Context, fn func(ctx context.Context) error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	return fn(ctx)
}
