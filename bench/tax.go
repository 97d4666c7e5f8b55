package main

import (
	"context"
	"fmt"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/rig"
)

// writerTax measures the commit path alone: what recording an event costs a writer beside a plain second insert, while
// a relay is on duty that consumes nothing.
func writerTax(writers int) group {
	name := named("writer_tax", writers)
	return group{name: name, figures: []string{name}, measure: func(ctx context.Context, b *bench, db *rig.Database) ([]figure.Figure, error) {
		recorder, err := recorderOf(ctx, db)
		if err != nil {
			return nil, err
		}
		offDuty, err := db.Hold(ctx, onDutySQL)
		if err != nil {
			return nil, err
		}
		defer offDuty()
		pool, err := db.NewPool(ctx, writers)
		if err != nil {
			return nil, err
		}
		rates, err := b.rounds(ctx, name, b.plan.pairs, []side{
			{"plain", func(ctx context.Context) (float64, error) { return b.write(ctx, db, writers, inTx(pool, plainly)) }},
			{"event", func(ctx context.Context) (float64, error) {
				return b.write(ctx, db, writers, inTx(pool, recording(recorder)))
			}},
		})
		if err != nil {
			return nil, err
		}
		return []figure.Figure{figure.Of(figure.Measured{
			Name: name, Unit: "ratio", Target: figure.AtLeast(0.95), Values: ratios(rates["event"], rates["plain"]),
			Sides: rates, Enough: b.plan.judgesRatios(), Note: "transactions a second; sides in order of their rounds",
		})}, nil
	}}
}

// write empties the tables and answers the writers' transactions a second.
func (b *bench) write(ctx context.Context, db *rig.Database, writers int, tx rig.Tx) (float64, error) {
	if err := db.Clean(ctx); err != nil {
		return 0, err
	}
	w, err := rig.Writers(ctx, writers, b.plan.window, tx)
	return w.PerSecond, err
}

// side is one side of a comparison.
type side struct {
	name    string
	measure func(ctx context.Context) (float64, error)
}

// rounds measures every side once a round, n times. The order turns from round to round, so that what drifts in the machine does
// not always fall on the same side.
func (b *bench) rounds(ctx context.Context, what string, n int, sides []side) (map[string][]float64, error) {
	values := map[string][]float64{}
	for round := range n {
		for i := range sides {
			if round%2 == 1 {
				i = len(sides) - 1 - i
			}
			value, err := sides[i].measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("round %d, %s: %w", round+1, sides[i].name, err)
			}
			values[sides[i].name] = append(values[sides[i].name], value)
			b.say("%s round %d %s %s", what, round+1, sides[i].name, figure.Number(value))
		}
	}
	return values, nil
}

// ratios divides round by round.
func ratios(over, under []float64) []float64 {
	out := make([]float64, len(over))
	for i := range over {
		out[i] = over[i] / under[i]
	}
	return out
}
