package main

import (
	"context"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/rig"
)

// pinned measures what a transaction that stays open costs the relay: while it pins xmin, no vacuum removes the index
// entries of the rows that were fanned out since.
func pinned() group {
	return group{name: "pinned", figures: []string{"fanout_pinned"}, measure: func(ctx context.Context, b *bench, db *rig.Database) ([]figure.Figure, error) {
		relay, err := newRelayOnly(ctx, db, 1)
		if err != nil {
			return nil, err
		}
		rates, err := b.rounds(ctx, "fanout_pinned", b.plan.pairs, []side{
			{"unpinned", func(ctx context.Context) (float64, error) { return relay.behindChurn(ctx, b.plan) }},
			{"pinned", func(ctx context.Context) (float64, error) { return relay.behindChurn(ctx, b.plan, pinSQL, snapshotSQL) }},
		})
		if err != nil {
			return nil, err
		}
		return []figure.Figure{figure.Of(figure.Measured{
			Name: "fanout_pinned", Unit: "ratio", Target: figure.AtLeast(0.95), Values: ratios(rates["pinned"], rates["unpinned"]),
			Sides: rates, Enough: b.plan.judgesRatios(), Note: "events a second behind churned rows",
		})}, nil
	}}
}

// behindChurn has rows recorded and fanned out, vacuums, and answers the rate at which the relay drains what comes then.
// A session runs held all the while.
func (r *relayOnly) behindChurn(ctx context.Context, p plan, held ...string) (rate float64, err error) {
	if err := r.db.Clean(ctx); err != nil {
		return 0, err
	}
	release, err := r.db.Hold(ctx, held...)
	if err != nil {
		return 0, err
	}
	defer release()
	bus, err := r.start(ctx)
	if err != nil {
		return 0, err
	}
	defer stopping(ctx, bus.Stop, &err)
	if _, err := r.drain(ctx, churnType, p.churned); err != nil {
		return 0, err
	}
	if err := r.db.Vacuum(ctx, "postbus.events"); err != nil {
		return 0, err
	}
	took, err := r.drain(ctx, eventType, p.pinnedBacklog)
	return float64(p.pinnedBacklog) / took.Seconds(), err
}
