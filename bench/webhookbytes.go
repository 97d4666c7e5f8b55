package main

import (
	"context"
	"fmt"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/rig"
)

// webhookBytes measures what a delivery leaves in the database, indexes and dead rows included.
func webhookBytes() group {
	names := []string{"webhook_bytes", "webhook_bytes_jobs"}
	return group{name: names[0], figures: names, measure: func(ctx context.Context, b *bench, db *rig.Database) ([]figure.Figure, error) {
		h, err := newHooks(ctx, b, db)
		if err != nil {
			return nil, err
		}
		n := b.plan.hooks[hookInFlight]
		own, jobs, sides := []float64{}, []float64{}, map[string][]float64{}
		for range b.plan.repeats {
			grown, err := h.grown(ctx, receivers{n: 1, inFlight: hookInFlight}, n)
			if err != nil {
				return nil, err
			}
			sum := 0.0
			for table, bytes := range grown {
				sides[table] = append(sides[table], bytes)
				sum += bytes
			}
			own, jobs = append(own, sum-grown["river_job"]), append(jobs, sum)
		}
		note := fmt.Sprintf("a delivery, of %d", n)
		return []figure.Figure{
			figure.Of(figure.Measured{Name: names[0], Unit: "bytes", Values: own, Sides: sides, Note: note}),
			figure.Of(figure.Measured{Name: names[1], Unit: "bytes", Values: jobs, Note: note + ", with its jobs"}),
		}, nil
	}}
}

// grown has n events delivered and answers by how many bytes a delivery the tables grew.
func (h *hooks) grown(ctx context.Context, to receivers, n int) (grown map[string]float64, err error) {
	return grown, h.with(ctx, to, func(ctx context.Context, r *receiving) error {
		before, err := r.sizes(ctx)
		if err != nil {
			return err
		}
		if _, err := r.db.Pool.Exec(ctx, fillSQL, n, eventType, body); err != nil {
			return err
		}
		if err := r.await(ctx, n); err != nil {
			return err
		}
		if err := r.check(ctx, r.paths); err != nil {
			return err
		}
		after, err := r.sizes(ctx)
		grown = map[string]float64{}
		for table, bytes := range after {
			grown[table] = float64(bytes-before[table]) / float64(n)
		}
		return err
	})
}

func (r *receiving) sizes(ctx context.Context) (sizes map[string]int64, err error) {
	return sizes, r.db.Pool.QueryRow(ctx, hooksSizesSQL).Scan(&sizes)
}
