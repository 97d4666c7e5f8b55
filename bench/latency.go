package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/rig"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/loop"
)

const arriveWithin = 10 * time.Second

// clock notes when an event's transaction was committed, by the answer to COMMIT, and when its handler was entered.
type clock struct {
	mu        sync.Mutex
	committed map[string]time.Time
	entered   map[string]time.Time
	arrived   chan string // subjects whose handler was entered
}

func newClock() *clock {
	return &clock{committed: map[string]time.Time{}, entered: map[string]time.Time{}, arrived: make(chan string, 1<<16)}
}

// handle is the subscription's handler. A second run of a job changes nothing.
func (c *clock) handle(_ context.Context, e events.Event) error {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, again := c.entered[e.Subject]; again {
		return nil
	}
	c.entered[e.Subject] = now
	c.arrived <- e.Subject
	return nil
}

// commit commits one event's transaction and notes when that was done.
func (c *clock) commit(ctx context.Context, tx rig.Tx, writer, i int) error {
	if err := tx(ctx, writer, i); err != nil {
		return err
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.committed[subjectOf(writer, i)] = now
	return nil
}

// await waits for n more arrivals.
func (c *clock) await(ctx context.Context, n int) error {
	late := time.NewTimer(arriveWithin)
	defer late.Stop()
	for i := range n {
		select {
		case <-c.arrived:
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return fmt.Errorf("%d of %d handlers were not entered within %s", n-i, n, arriveWithin)
		}
	}
	return nil
}

// latencies answers commit to handler, in milliseconds. A handler may be quicker than the answer to COMMIT: that is 0.
func (c *clock) latencies() []float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []float64
	for subject, committed := range c.committed {
		out = append(out, max(0, milliseconds(c.entered[subject].Sub(committed))))
	}
	return out
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// timed runs a bus whose handler tells the clock, and answers the latencies of what write commits, repeat by repeat.
func (b *bench) timed(ctx context.Context, db *rig.Database, write func(ctx context.Context, c *clock, tx rig.Tx) error) (repeats [][]float64, err error) {
	recorder, err := recorderOf(ctx, db)
	if err != nil {
		return nil, err
	}
	writer, err := db.NewPool(ctx, steadyWriters)
	if err != nil {
		return nil, err
	}
	consumer, err := db.NewPool(ctx, busConns)
	if err != nil {
		return nil, err
	}
	for range b.plan.repeats {
		values, err := timeOnce(ctx, db, consumer, func(ctx context.Context, c *clock) error {
			return write(ctx, c, inTx(writer, recording(recorder)))
		})
		if err != nil {
			return nil, err
		}
		repeats = append(repeats, values)
	}
	return repeats, nil
}

// warmUps are committed before anything counts: connections, plans and caches are those of a bus that has been running.
const warmUps = 20

func timeOnce(ctx context.Context, db *rig.Database, pool *pgxpool.Pool, write func(ctx context.Context, c *clock) error) (values []float64, err error) {
	if err := db.Clean(ctx); err != nil {
		return nil, err
	}
	c := newClock()
	s := noop(subscriber)
	s.Handle = c.handle
	bus, err := startBus(ctx, pool, s)
	if err != nil {
		return nil, err
	}
	defer stopping(ctx, bus.Stop, &err)
	if err := write(ctx, c); err != nil {
		return nil, err
	}
	return c.latencies(), nil
}

// pause waits for a random time, so that no sample falls into step with a loop of the bus.
func (p plan) pause(ctx context.Context) error {
	return loop.Sleep(ctx, p.pauseMin+rand.N(p.pauseMax-p.pauseMin))
}

// percentiles makes NAME_p50 and NAME_p99 of the repeats.
func (b *bench) percentiles(name string, repeats [][]float64, p50, p99 figure.Target, enough bool, note string) []figure.Figure {
	var figures []figure.Figure
	for _, p := range []struct {
		suffix  string
		percent float64
		target  figure.Target
	}{{"_p50", 50, p50}, {"_p99", 99, p99}} {
		var values []float64
		for _, repeat := range repeats {
			values = append(values, figure.Percentile(repeat, p.percent))
		}
		figures = append(figures, figure.Of(figure.Measured{
			Name: name + p.suffix, Unit: "ms", Target: p.target, Values: values, Enough: enough, Note: note,
		}))
	}
	return figures
}
