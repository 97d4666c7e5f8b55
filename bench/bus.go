package main

import (
	"context"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/bench/internal/rig"
	"github.com/postbus/postbus/events"
)

const (
	app        = "bench"
	subscriber = "bench.noop"
	// workers and busConns are the same for Postbus and for River direct.
	workers  = 100
	busConns = 16
)

// newBus composes a bus with the library's own defaults, but for the number of workers: the default 4 would be the limit
// of what is measured.
func newBus(pool *pgxpool.Pool, cfg postbus.Config) (*postbus.Bus, error) {
	if cfg.App == "" {
		cfg.App = app
		cfg.Types = []events.Type{{Name: eventType}}
	}
	cfg.Log = slog.New(slog.DiscardHandler)
	return postbus.New(pool, cfg)
}

// recorderOf migrates the database, declares the event type and answers a recorder; no bus runs.
func recorderOf(ctx context.Context, db *rig.Database) (events.Recorder, error) {
	bus, err := newBus(db.Pool, postbus.Config{})
	if err != nil {
		return nil, err
	}
	return bus.Recorder(), bus.Migrate(ctx)
}

// noop is a subscription whose handler does nothing.
func noop(name string) events.Subscription {
	return events.Subscription{Name: name, Types: []string{eventType}, Handle: func(context.Context, events.Event) error { return nil }}
}

// startBus runs a bus on a pool of its own.
func startBus(ctx context.Context, pool *pgxpool.Pool, subscriptions ...events.Subscription) (*postbus.Bus, error) {
	bus, err := newBus(pool, postbus.Config{Subscriptions: subscriptions, Queues: map[string]int{"default": workers}})
	if err != nil {
		return nil, err
	}
	return bus, bus.Start(ctx)
}
