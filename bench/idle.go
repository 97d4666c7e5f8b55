package main

import (
	"context"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/rig"
	"github.com/postbus/postbus/internal/loop"
)

// idle measures what a bus costs its database while nothing happens.
func idle() group {
	const name = "idle_transactions"
	return group{name: "idle", figures: []string{name}, measure: func(ctx context.Context, b *bench, db *rig.Database) ([]figure.Figure, error) {
		rate, err := b.idleRate(ctx, db)
		return []figure.Figure{figure.Of(figure.Measured{
			Name: name, Unit: "tx/s", Values: []float64{rate}, Note: "of one process with one subscription",
		})}, err
	}}
}

// idleRate answers the transactions a second that the database ends. The server's counters come up to a second late.
func (b *bench) idleRate(ctx context.Context, db *rig.Database) (rate float64, err error) {
	pool, err := db.NewPool(ctx, busConns)
	if err != nil {
		return 0, err
	}
	bus, err := startBus(ctx, pool, noop(subscriber))
	if err != nil {
		return 0, err
	}
	defer stopping(ctx, bus.Stop, &err)
	if err := loop.Sleep(ctx, b.plan.settle); err != nil {
		return 0, err
	}
	before, err := b.server.Transactions(ctx, db.Name)
	if err != nil {
		return 0, err
	}
	if err := loop.Sleep(ctx, b.plan.idle); err != nil {
		return 0, err
	}
	after, err := b.server.Transactions(ctx, db.Name)
	return float64(after-before) / b.plan.idle.Seconds(), err
}
