package main

import (
	"context"
	"fmt"
	"time"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/peer"
	"github.com/postbus/postbus/bench/internal/rig"
)

// growth measures how many (event, subscriber) pairs Postbus handles a second, plain and wide, as one thing grows.
func growth() group {
	steps := []struct {
		what  string
		sizes []int
		of    func(g *grown, size int)
	}{
		{"processes", []int{1, 2, 4, 8}, func(g *grown, n int) { g.processes = n }},
		{"backlog", []int{10_000, 100_000, 1_000_000}, func(g *grown, n int) { g.events = n }},
		{"bytes", []int{256, 4096, 65536}, func(g *grown, n int) { g.bytes, g.events = n, min(g.events, 512<<20/n/8) }},
		{"subscribers", []int{1, 10, 100}, func(g *grown, n int) { g.subscribers, g.events = n, max(g.events/n, 200) }},
	}
	kinds := map[string]string{"plain": "postbus", "wide": "postbus_wide"}
	var names []string
	for _, kind := range []string{"plain", "wide"} {
		for _, step := range steps {
			for _, size := range step.sizes {
				names = append(names, fmt.Sprintf("growth_%s_%s_%d", kind, step.what, size))
			}
		}
	}
	return group{name: "growth", long: true, figures: names, measure: func(ctx context.Context, b *bench, _ *rig.Database) ([]figure.Figure, error) {
		var figures []figure.Figure
		for _, kind := range []string{"plain", "wide"} {
			s, err := peer.Named(kinds[kind])
			if err != nil {
				return nil, err
			}
			for _, step := range steps {
				for _, size := range step.sizes {
					g := grown{system: s, processes: 1, events: 5 * b.backlogOf(s, 10), subscribers: 1, bytes: payload}
					step.of(&g, size)
					if b.plan.quick {
						g.events = min(g.events, 5_000)
					}
					name := fmt.Sprintf("growth_%s_%s_%d", kind, step.what, size)
					rate, err := b.grow(ctx, g)
					if err != nil {
						return figures, fmt.Errorf("%s: %w", name, err)
					}
					figures = append(figures, figure.Of(figure.Measured{Name: name, Unit: "handled/s", Values: []float64{rate}}))
				}
			}
		}
		return figures, nil
	}}
}

// grown is one point of a curve.
type grown struct {
	system                                peer.System
	processes, events, subscribers, bytes int
}

// longEnough is how long a backlog that is not done by then is worked on.
const longEnough = 8 * time.Second

// grow answers handled a second. Processes are runtimes with pools of their own, in this process.
func (b *bench) grow(ctx context.Context, g grown) (rate float64, err error) {
	db, err := b.server.Database(ctx, "bench_grown")
	if err != nil {
		return 0, err
	}
	defer func() { _ = b.server.Drop(context.WithoutCancel(ctx), db) }()
	instance, err := g.system.Open(ctx, db, g.subscribers)
	if err != nil {
		return 0, err
	}
	if _, err := db.Pool.Exec(ctx, fillPeerSQL, g.events, peer.EventType, g.bytes); err != nil {
		return 0, err
	}
	if err := db.Vacuum(ctx, "postbus.events"); err != nil {
		return 0, err
	}
	t := newTally(g.events, g.subscribers)
	began := time.Now()
	for range g.processes {
		stop, err := instance.Start(ctx, t.handled)
		if err != nil {
			return 0, err
		}
		defer stopping(ctx, stop, &err)
	}
	want := int64(g.events * g.subscribers)
	if _, err := rig.Until(ctx, longEnough, 2*time.Millisecond, func(context.Context) (bool, error) { return t.distinct.Load() >= want, nil }); err != nil {
		return 0, err
	}
	rate = float64(t.distinct.Load()) / time.Since(began).Seconds()
	b.say("%s: %d processes, %d events, %d subscribers, %d bytes: %s handled/s", g.system.Name, g.processes, g.events, g.subscribers, g.bytes, figure.Number(rate))
	return rate, nil
}

// limits measures what this machine's Postgres does at most: commits of one row, and bytes of WAL.
func limits() group {
	return group{name: "limit", long: true, figures: []string{"limit_commits", "limit_wal"}, measure: func(ctx context.Context, b *bench, db *rig.Database) ([]figure.Figure, error) {
		var commits, wal []float64
		pool, err := db.NewPool(ctx, peerWriters)
		if err != nil {
			return nil, err
		}
		for range b.plan.repeats {
			rate, err := b.write(ctx, db, peerWriters, func(ctx context.Context, _, _ int) error {
				_, err := pool.Exec(ctx, insertNoteSQL, owner, body)
				return err
			})
			if err != nil {
				return nil, err
			}
			commits = append(commits, rate)
			before, err := db.Cost(ctx)
			if err != nil {
				return nil, err
			}
			began := time.Now()
			if _, err := db.Pool.Exec(ctx, plainManySQL, b.plan.bulkRows, eventType, body); err != nil {
				return nil, err
			}
			took := time.Since(began).Seconds()
			after, err := db.Cost(ctx)
			if err != nil {
				return nil, err
			}
			wal = append(wal, float64(after.Minus(before).WAL)/mebibytes/took)
		}
		return []figure.Figure{
			figure.Of(figure.Measured{Name: "limit_commits", Unit: "commits/s", Values: commits, Note: "8 sessions, one row each"}),
			figure.Of(figure.Measured{Name: "limit_wal", Unit: "MiB/s", Values: wal, Note: "one statement that inserts many rows"}),
		}, nil
	}}
}
