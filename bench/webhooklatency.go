package main

import (
	"context"
	"fmt"
	"time"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/rig"
)

const (
	hookRate     = 100 // events a second
	hookInFlight = 8
	// fairRate is what all endpoints together get a second.
	fairRate = 200
	// warmHooks passes before anything counts.
	warmHooks = time.Second
)

// webhookLatency measures commit to the request's arrival at a steady rate.
func webhookLatency() group {
	return group{name: "webhook_100eps", figures: []string{"webhook_100eps_p50", "webhook_100eps_p99"}, measure: func(ctx context.Context, b *bench, db *rig.Database) ([]figure.Figure, error) {
		h, err := newHooks(ctx, b, db)
		if err != nil {
			return nil, err
		}
		var repeats [][]float64
		for range b.plan.repeats {
			values, err := h.latencies(ctx, receivers{n: 1, inFlight: hookInFlight}, hookRate, b.plan.hookRate, 0)
			if err != nil {
				return nil, err
			}
			repeats = append(repeats, values)
		}
		note := fmt.Sprintf("%d events a second for %s a repeat, %d in flight", hookRate, b.plan.hookRate, hookInFlight)
		return b.percentiles("webhook_100eps", repeats, figure.Target{}, figure.Target{}, b.plan.judgesLatencies(), note), nil
	}}
}

// webhookFairness measures what receivers that hang cost the others: the same endpoints, the same events, and some of the
// receivers stop to answer.
func webhookFairness(hung, of int) group {
	name := fmt.Sprintf("webhook_fairness_%d_of_%d", hung, of)
	return group{name: name, figures: []string{name}, measure: func(ctx context.Context, b *bench, db *rig.Database) ([]figure.Figure, error) {
		h, err := newHooks(ctx, b, db)
		if err != nil {
			return nil, err
		}
		p99 := func(hung int) func(ctx context.Context) (float64, error) {
			return func(ctx context.Context) (float64, error) {
				values, err := h.latencies(ctx, receivers{n: of, inFlight: 1}, fairRate/of, b.plan.fair, hung)
				return figure.Percentile(values, 99), err
			}
		}
		times, err := b.rounds(ctx, name, b.plan.pairs, []side{{"answering", p99(0)}, {"hung", p99(hung)}})
		if err != nil {
			return nil, err
		}
		return []figure.Figure{figure.Of(figure.Measured{
			Name: name, Unit: "ratio", Target: figure.AtMost(1.1), Values: ratios(times["hung"], times["answering"]), Sides: times,
			Enough: b.plan.judgesRatios(), Note: fmt.Sprintf("p99 in ms, %d deliveries a second for %s", fairRate, b.plan.fair),
		})}, nil
	}}
}

// latencies answers commit to arrival, in milliseconds, at the endpoints but the last hung ones, which hang once the bus is
// warm.
func (h *hooks) latencies(ctx context.Context, to receivers, rate int, during time.Duration, hung int) (values []float64, err error) {
	return values, h.with(ctx, to, func(ctx context.Context, r *receiving) error {
		warm, c, tx := int(warmHooks.Seconds())*rate, newClock(), inTx(h.db.Pool, recording(r.bus.Recorder()))
		if err := steadily(ctx, c, tx, rate, 0, warm); err != nil {
			return err
		}
		if err := r.await(ctx, warm*to.n); err != nil {
			return err
		}
		c.forget()
		healthy := r.paths[:to.n-hung]
		r.sink.Hang(r.paths[to.n-hung:]...)
		total := max(1, int(during.Seconds()*float64(rate)))
		if err := steadily(ctx, c, tx, rate, warm, warm+total); err != nil {
			return err
		}
		if err := r.await(ctx, warm*to.n+total*len(healthy)); err != nil {
			return err
		}
		values = r.since(c, healthy)
		return r.check(ctx, healthy)
	})
}

// since answers the latencies of the events that the clock knows, at the paths.
func (r *receiving) since(c *clock, paths []string) (values []float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := map[string]bool{}
	for _, path := range paths {
		at[path] = true
	}
	for _, a := range r.sink.Arrivals() {
		if committed, ok := c.committed[a.Subject]; ok && at[a.Path] {
			values = append(values, max(0, milliseconds(a.At.Sub(committed))))
		}
	}
	return values
}
