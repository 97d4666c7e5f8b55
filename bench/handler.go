package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/rig"
	"github.com/postbus/postbus/internal/loop"
)

// handlerIdle measures commit to handler entry for events that come one at a time to a bus that sleeps.
func handlerIdle() group {
	return group{name: "handler_idle", figures: []string{"handler_idle_p50", "handler_idle_p99"}, measure: func(ctx context.Context, b *bench, db *rig.Database) ([]figure.Figure, error) {
		repeats, err := b.timed(ctx, db, b.oneByOne)
		if err != nil {
			return nil, err
		}
		note := fmt.Sprintf("%d samples a repeat, %s to %s apart", b.plan.samples, b.plan.pauseMin, b.plan.pauseMax)
		return b.percentiles("handler_idle", repeats, figure.AtMost(4), figure.AtMost(12), b.plan.judgesLatencies(), note), nil
	}}
}

func (b *bench) oneByOne(ctx context.Context, c *clock, tx rig.Tx) error {
	for i := range warmUps + b.plan.samples {
		if i == warmUps {
			c.forget()
		}
		if err := b.plan.pause(ctx); err != nil {
			return err
		}
		if err := c.commit(ctx, tx, 0, i); err != nil {
			return err
		}
		if err := c.await(ctx, 1); err != nil {
			return err
		}
	}
	return nil
}

// handlerBusy measures the same while events come at a steady rate.
func handlerBusy() group {
	return group{name: "handler_200eps", figures: []string{"handler_200eps_p50", "handler_200eps_p99"}, measure: func(ctx context.Context, b *bench, db *rig.Database) ([]figure.Figure, error) {
		repeats, err := b.timed(ctx, db, b.steadilyAwaited)
		if err != nil {
			return nil, err
		}
		note := fmt.Sprintf("%d events a second for %s a repeat", steadyRate, b.plan.steady)
		return b.percentiles("handler_200eps", repeats, figure.Target{}, figure.AtMost(50), b.plan.judgesLatencies(), note), nil
	}}
}

const (
	steadyRate    = 200 // events a second
	steadyWriters = 8   // enough for commits of up to 40 ms
)

// steadilyAwaited commits events at the steady rate and waits for their handlers.
func (b *bench) steadilyAwaited(ctx context.Context, c *clock, tx rig.Tx) error {
	total := warmUps + int(b.plan.steady.Seconds()*steadyRate)
	if err := steadily(ctx, c, tx, steadyRate, 0, total); err != nil {
		return err
	}
	if err := c.await(ctx, total); err != nil {
		return err
	}
	c.forgetSubjects(warmUps)
	return nil
}

// steadily commits the events from first to last at a rate a second, from whichever writer is free: a slow commit does not thin
// out those that follow.
func steadily(ctx context.Context, c *clock, tx rig.Tx, rate, first, last int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	due := make(chan int)
	var writers sync.WaitGroup
	for range steadyWriters {
		writers.Go(func() {
			for i := range due {
				if err := c.commit(ctx, tx, 0, i); err != nil {
					stop(err)
				}
			}
		})
	}
	began := time.Now()
	for i := first; i < last; i++ {
		if loop.Sleep(ctx, time.Until(began.Add(time.Duration(i-first)*time.Second/time.Duration(rate)))) != nil {
			break
		}
		due <- i
	}
	close(due)
	writers.Wait()
	return context.Cause(ctx)
}

// forget drops what was committed so far; forgetSubjects the first n of writer 0.
func (c *clock) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.committed)
}

func (c *clock) forgetSubjects(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range n {
		delete(c.committed, subjectOf(0, i))
	}
}
