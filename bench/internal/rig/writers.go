package rig

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/postbus/postbus/internal/loop"
)

// Tx commits one transaction. i is the count of the writer's own transactions.
type Tx func(ctx context.Context, writer, i int) error

// Window is how long writers write: warm-up first, then what counts.
type Window struct{ Warm, Count time.Duration }

// Written is what the writers did.
type Written struct {
	PerSecond float64 // of the window
	Total     int     // with the warm-up and what was under way at the window's end
}

// A window grows, up to longest, until it holds the fewest commits that say something.
const (
	fewest  = 20
	longest = 30 * time.Second
)

// Writers commits transactions from n writers at once, each as fast as it can.
func Writers(ctx context.Context, n int, w Window, tx Tx) (Written, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var committed atomic.Int64
	var ended atomic.Bool
	var writers sync.WaitGroup
	for writer := range n {
		writers.Go(func() {
			for i := 0; !ended.Load() && ctx.Err() == nil; i++ {
				if err := tx(ctx, writer, i); err != nil {
					stop(err)
					return
				}
				committed.Add(1)
			}
		})
	}
	_ = loop.Sleep(ctx, w.Warm)
	began, before := time.Now(), committed.Load()
	_ = loop.Sleep(ctx, w.Count)
	_, _ = Until(ctx, longest, 10*time.Millisecond, func(context.Context) (bool, error) {
		return committed.Load()-before >= fewest, nil
	})
	counted, took := committed.Load()-before, time.Since(began)
	ended.Store(true)
	writers.Wait()
	if err := context.Cause(ctx); err != nil {
		return Written{}, err
	}
	if counted == 0 {
		return Written{}, fmt.Errorf("rig: nothing was committed for %s", took)
	}
	return Written{PerSecond: float64(counted) / took.Seconds(), Total: int(committed.Load())}, nil
}

// Until looks every few milliseconds until done answers true, at most for the given time.
func Until(ctx context.Context, within, every time.Duration, done func(ctx context.Context) (bool, error)) (ok bool, err error) {
	deadline := time.Now().Add(within)
	for {
		ok, err = done(ctx)
		if ok || err != nil || time.Now().After(deadline) {
			return ok, err
		}
		if err := loop.Sleep(ctx, every); err != nil {
			return false, err
		}
	}
}
