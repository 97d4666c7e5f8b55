package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/bench/internal/rig"
	"github.com/postbus/postbus/events"
)

const churnType = "bench.churned"

// relayOnly fans out and works nothing: the subscriptions belong to an application none of whose processes run, and
// workers fetch only the kinds that they know.
type relayOnly struct {
	db          *rig.Database
	pool        *pgxpool.Pool
	subscribers int
}

func newRelayOnly(ctx context.Context, db *rig.Database, subscribers int) (*relayOnly, error) {
	absent := postbus.Config{App: "bench.absent", Types: []events.Type{{Name: eventType}, {Name: churnType}}}
	for i := range subscribers {
		absent.Subscriptions = append(absent.Subscriptions, noop(named(subscriber, i)))
	}
	declaring, err := newBus(db.Pool, absent)
	if err != nil {
		return nil, err
	}
	if err := declaring.Migrate(ctx); err != nil {
		return nil, err
	}
	pool, err := db.NewPool(ctx, busConns)
	return &relayOnly{db: db, pool: pool, subscribers: subscribers}, err
}

// start runs the relay.
func (r *relayOnly) start(ctx context.Context) (*postbus.Bus, error) {
	bus, err := newBus(r.pool, postbus.Config{App: "bench.relay", SkipMigrate: true})
	if err != nil {
		return nil, err
	}
	return bus, bus.Start(ctx)
}

// jobRate empties the tables, drains a backlog and answers jobs a second.
func (r *relayOnly) jobRate(ctx context.Context, backlog int) (rate float64, err error) {
	if err := r.db.Clean(ctx); err != nil {
		return 0, err
	}
	bus, err := r.start(ctx)
	if err != nil {
		return 0, err
	}
	defer stopping(ctx, bus.Stop, &err)
	took, err := r.drain(ctx, eventType, backlog)
	if err != nil {
		return 0, err
	}
	var jobs int
	if err := r.db.Pool.QueryRow(ctx, jobsSQL, subscriber+"%").Scan(&jobs); err != nil {
		return 0, err
	}
	if want := backlog * r.subscribers; jobs != want {
		return 0, fmt.Errorf("%d events made %d jobs for %d subscribers, want %d", backlog, jobs, r.subscribers, want)
	}
	return float64(jobs) / took.Seconds(), nil
}

const drainWithin = 5 * time.Minute

// drain commits a backlog in one transaction while the relay sleeps, and answers how long it took until all was fanned out.
func (r *relayOnly) drain(ctx context.Context, typ string, backlog int) (time.Duration, error) {
	if _, err := r.db.Pool.Exec(ctx, fillSQL, backlog, typ, body); err != nil {
		return 0, fmt.Errorf("fill the backlog: %w", err)
	}
	began := time.Now()
	var last int64
	if err := r.db.Pool.QueryRow(ctx, lastSeqSQL).Scan(&last); err != nil {
		return 0, err
	}
	// Claims go in order, give or take passes side by side; looking at one row costs next to nothing.
	_, err := rig.Until(ctx, drainWithin, 5*time.Millisecond, func(ctx context.Context) (fanned bool, err error) {
		return fanned, r.db.Pool.QueryRow(ctx, isFannedSQL, last).Scan(&fanned)
	})
	if err != nil {
		return 0, err
	}
	drained, err := rig.Until(ctx, drainWithin, time.Millisecond, func(ctx context.Context) (bool, error) {
		var left int
		err := r.db.Pool.QueryRow(ctx, unfannedSQL).Scan(&left)
		return left == 0, err
	})
	took := time.Since(began)
	if err == nil && !drained {
		err = errors.New("the relay did not drain the backlog: its last row, or one before it, is not fanned out")
	}
	if err != nil {
		return 0, err
	}
	return took, nil
}
