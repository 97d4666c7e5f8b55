package main

import (
	"context"
	"fmt"
	"time"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/rig"
	"github.com/postbus/postbus/jobs"
)

// receipt measures what a caller waits for who answers "written and indexed": from its commit, through the event just
// recorded and its fan-out, to the end of the job.
func receipt() group {
	return group{name: "receipt", figures: []string{"receipt_p50", "receipt_p99"}, measure: func(ctx context.Context, b *bench, db *rig.Database) ([]figure.Figure, error) {
		var repeats [][]float64
		for range b.plan.repeats {
			values, err := b.receipts(ctx, db)
			if err != nil {
				return nil, err
			}
			repeats = append(repeats, values)
		}
		note := fmt.Sprintf("%d samples a repeat; commit, LatestFor, AwaitFanout, Wait", b.plan.samples)
		return b.percentiles("receipt", repeats, figure.AtMost(10), figure.AtMost(40), b.plan.judgesLatencies(), note), nil
	}}
}

func (b *bench) receipts(ctx context.Context, db *rig.Database) (values []float64, err error) {
	pool, err := db.NewPool(ctx, busConns)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	s := noop(subscriber)
	s.Receipt = true
	bus, err := startBus(ctx, pool, s)
	if err != nil {
		return nil, err
	}
	defer stopping(ctx, bus.Stop, &err)
	if err := db.Clean(ctx); err != nil {
		return nil, err
	}
	tx := inTx(db.Pool, recording(bus.Recorder()))
	for i := range warmUps + b.plan.samples {
		if err := b.plan.pause(ctx); err != nil {
			return nil, err
		}
		if err := tx(ctx, 0, i); err != nil {
			return nil, err
		}
		committed := time.Now()
		if err := received(ctx, bus, subjectOf(0, i)); err != nil {
			return nil, err
		}
		if i >= warmUps {
			values = append(values, milliseconds(time.Since(committed)))
		}
	}
	return values, nil
}

// received waits until the job of the subject's latest event is completed.
func received(ctx context.Context, bus *postbus.Bus, subject string) error {
	event, err := bus.Events().LatestFor(ctx, owner, subject)
	if err != nil {
		return err
	}
	fanned, ok, err := bus.Events().AwaitFanout(ctx, event.ID, arriveWithin)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("event %s was not fanned out within %s", event.ID, arriveWithin)
	}
	state, final := bus.Wait(ctx, fanned[subscriber], arriveWithin)
	if !final || state != jobs.Completed {
		return fmt.Errorf("job %s of event %s is %q after %s, want %q", fanned[subscriber], event.ID, state, arriveWithin, jobs.Completed)
	}
	return nil
}
