package main

import (
	"context"
	"fmt"
	"time"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/rig"
	"github.com/postbus/postbus/bench/internal/sink"
)

// slow is how long a receiver takes for an answer.
const slow = 10 * time.Millisecond

// webhookDrain measures how long a backlog takes to a receiver that needs 10 ms, beside what latency and requests in flight
// allow, and beside a client that only sends.
func webhookDrain(inFlight int) group {
	ideal, plain := named("webhook_drain_10ms", inFlight), named("webhook_drain_plain", inFlight)
	return group{name: ideal, figures: []string{ideal, plain}, measure: func(ctx context.Context, b *bench, db *rig.Database) ([]figure.Figure, error) {
		h, err := newHooks(ctx, b, db)
		if err != nil {
			return nil, err
		}
		to, n := receivers{n: 1, inFlight: inFlight, wait: slow}, b.plan.hooks[inFlight]
		rates, err := b.rounds(ctx, ideal, b.plan.pairs, []side{
			{"plain", func(ctx context.Context) (float64, error) { return postPlainly(ctx, to, n) }},
			{"bus", func(ctx context.Context) (float64, error) { return h.drain(ctx, to, n, nil) }},
		})
		if err != nil {
			return nil, err
		}
		possible := float64(inFlight) / slow.Seconds()
		var over []float64
		for _, rate := range rates["bus"] {
			over = append(over, possible/rate)
		}
		enough := b.plan.judgesRatios()
		return []figure.Figure{
			figure.Of(figure.Measured{
				Name: ideal, Unit: "ratio", Target: figure.AtMost(1.2), Values: over, Sides: rates, Enough: enough,
				Note: fmt.Sprintf("time / (%d x %s / %d); sides are deliveries a second", n, slow, inFlight),
			}),
			figure.Of(figure.Measured{Name: plain, Unit: "ratio", Values: ratios(rates["plain"], rates["bus"]), Enough: enough}),
		}, nil
	}}
}

// webhookRate measures the same to a receiver that answers at once: what a delivery costs.
func webhookRate(inFlight int) group {
	name, fanned := named("webhook_drain_0ms", inFlight), named("webhook_fanout_rate", inFlight)
	return group{name: name, figures: []string{name, fanned}, measure: func(ctx context.Context, b *bench, db *rig.Database) ([]figure.Figure, error) {
		h, err := newHooks(ctx, b, db)
		if err != nil {
			return nil, err
		}
		to, n := receivers{n: 1, inFlight: inFlight}, b.plan.hooks[inFlight]
		var fanouts []float64
		rates, err := b.rounds(ctx, name, b.plan.repeats, []side{
			{"plain", func(ctx context.Context) (float64, error) { return postPlainly(ctx, to, n) }},
			{"bus", func(ctx context.Context) (float64, error) { return h.drain(ctx, to, n, &fanouts) }},
		})
		if err != nil {
			return nil, err
		}
		return []figure.Figure{
			figure.Of(figure.Measured{
				Name: name, Unit: "/s", Values: rates["bus"], Sides: rates, Note: fmt.Sprintf("%d deliveries; plain only sends", n),
			}),
			figure.Of(figure.Measured{Name: fanned, Unit: "/s", Values: fanouts, Note: "events a second, one endpoint"}),
		}, nil
	}}
}

// postPlainly answers the requests a second of a client that only sends, to the same receiver. A tenth of the requests will do.
func postPlainly(ctx context.Context, to receivers, n int) (float64, error) {
	s, err := sink.Start(to.wait)
	if err != nil {
		return 0, err
	}
	defer s.Stop()
	n = max(n/10, 10*to.inFlight)
	payload := fmt.Sprintf(`{"subject":"plain","data":%q}`, body+body)
	err = sink.Post(ctx, s.URL+"/0", payload, n, to.inFlight)
	return float64(n) / s.Took().Seconds(), err
}

// drain answers the deliveries a second of a backlog of n, from the first request to the last answer. The rate of the
// fan-out before it is added to fanouts.
func (h *hooks) drain(ctx context.Context, to receivers, n int, fanouts *[]float64) (rate float64, err error) {
	return rate, h.with(ctx, to, func(ctx context.Context, r *receiving) error {
		fanned, err := r.backlog(ctx, n)
		if err != nil {
			return err
		}
		if fanouts != nil {
			*fanouts = append(*fanouts, fanned)
		}
		if err := r.release(ctx); err != nil {
			return err
		}
		if err := r.await(ctx, n); err != nil {
			return err
		}
		if err := r.check(ctx, r.paths); err != nil {
			return err
		}
		rate = float64(n) / r.sink.Took().Seconds()
		return nil
	})
}

// backlog records n events and has them fanned out, while the endpoints hear nothing: as if their receivers had asked for
// it. It answers the events fanned out a second.
func (r *receiving) backlog(ctx context.Context, n int) (rate float64, err error) {
	if _, err := r.db.Pool.Exec(ctx, silenceHooksSQL); err != nil {
		return 0, err
	}
	if _, err := r.db.Pool.Exec(ctx, fillSQL, n, eventType, body); err != nil {
		return 0, fmt.Errorf("fill the backlog: %w", err)
	}
	fanned, err := rig.Until(ctx, hooksWithin, 20*time.Millisecond, func(ctx context.Context) (bool, error) {
		var done int
		err := r.db.Pool.QueryRow(ctx, hooksFannedSQL).Scan(&done, &rate)
		return done >= n, err
	})
	if err == nil && !fanned {
		err = fmt.Errorf("%d events were not fanned out within %s", n, hooksWithin)
	}
	if err != nil {
		return 0, err
	}
	return rate, r.db.Vacuum(ctx, "postbus.events", "postbus.webhook_deliveries", "postbus.webhook_fanouts")
}

// release lets the endpoints hear again; the poll opens their lanes within a second.
func (r *receiving) release(ctx context.Context) error {
	_, err := r.db.Pool.Exec(ctx, releaseHooksSQL)
	return err
}
