package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/peer"
	"github.com/postbus/postbus/bench/internal/rig"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/pg"
)

// peerWriters write at once beside peers.
const peerWriters = 8

// loads are the shares of its own peak at which a system's latency is measured.
var loads = []int{10, 50, 80}

// peersTax measures what recording costs a writer with each system, nobody consuming: transactions a second over those with only
// the business row.
func peersTax() group {
	var names []string
	for _, s := range peer.All() {
		names = append(names, "peers_tax_"+s.Name)
	}
	return group{name: "peers_tax", long: true, figures: names, measure: func(ctx context.Context, b *bench, db *rig.Database) ([]figure.Figure, error) {
		pool, err := db.NewPool(ctx, peerWriters)
		if err != nil {
			return nil, err
		}
		sides := []side{{"alone", func(ctx context.Context) (float64, error) {
			return b.write(ctx, db, peerWriters, business(pool, func(context.Context, pgx.Tx, int) error { return nil }))
		}}}
		for _, s := range peer.All() {
			sides = append(sides, side{s.Name, func(ctx context.Context) (float64, error) { return b.taxOf(ctx, s) }})
		}
		rates, err := b.rounds(ctx, "peers_tax", b.plan.repeats, sides)
		if err != nil {
			return nil, err
		}
		var figures []figure.Figure
		for _, s := range peer.All() {
			figures = append(figures, figure.Of(figure.Measured{
				Name: "peers_tax_" + s.Name, Unit: "ratio", Values: ratios(rates[s.Name], rates["alone"]), Sides: map[string][]float64{
					"alone": rates["alone"], "recorded": rates[s.Name],
				},
			}))
		}
		return figures, nil
	}}
}

func (b *bench) taxOf(ctx context.Context, s peer.System) (rate float64, err error) {
	db, err := b.server.Database(ctx, "bench_peer")
	if err != nil {
		return 0, err
	}
	defer func() { _ = b.server.Drop(context.WithoutCancel(ctx), db) }()
	instance, err := s.Open(ctx, db, 1)
	if err != nil {
		return 0, err
	}
	pool, err := db.NewPool(ctx, peerWriters)
	if err != nil {
		return 0, err
	}
	var next atomic.Int64
	w, err := rig.Writers(ctx, peerWriters, b.plan.window, business(pool, func(ctx context.Context, tx pgx.Tx, _ int) error {
		n := int(next.Add(1))
		return instance.Record(ctx, tx, n, peer.Data(n, payload))
	}))
	return w.PerSecond, err
}

// business is a transaction with the business row and what record adds.
func business(pool *pgxpool.Pool, record func(ctx context.Context, tx pgx.Tx, n int) error) rig.Tx {
	return func(ctx context.Context, _, i int) error {
		return pg.InTx(ctx, pool, func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, insertNoteSQL, owner, body); err != nil {
				return err
			}
			return record(ctx, tx, i)
		})
	}
}

// running is a system at work on what is recorded meanwhile.
type running struct {
	db        *rig.Database
	instance  peer.Instance
	pool      *pgxpool.Pool
	tally     *tally
	committed []atomic.Int64 // nanoseconds since the epoch
	next      atomic.Int64
	close     func(err *error)
}

// room is how many events a running system is given at most.
const room = 2_000_000

func (b *bench) runningOne(ctx context.Context, s peer.System) (*running, error) {
	db, err := b.server.Database(ctx, "bench_peer")
	if err != nil {
		return nil, err
	}
	r := &running{db: db, tally: newTally(room, 1), committed: make([]atomic.Int64, room)}
	drop := func() { _ = b.server.Drop(context.WithoutCancel(ctx), db) }
	var stop func(context.Context) error
	if r.instance, err = s.Open(ctx, db, 1); err == nil {
		if r.pool, err = db.NewPool(ctx, peerWriters); err == nil {
			stop, err = r.instance.Start(ctx, r.tally.handled)
		}
	}
	if err != nil {
		drop()
		return nil, err
	}
	r.close = func(err *error) { stopping(ctx, stop, err); drop() }
	return r, nil
}

// write commits the next event, due at a time from which its latency counts.
func (r *running) write(ctx context.Context) error {
	n := int(r.next.Add(1)) - 1
	if n >= room {
		return fmt.Errorf("more than %d events", room)
	}
	err := business(r.pool, func(ctx context.Context, tx pgx.Tx, _ int) error {
		return r.instance.Record(ctx, tx, n, peer.Data(n, payload))
	})(ctx, 0, n)
	r.committed[n].Store(time.Now().UnixNano())
	return err
}

// at writes so many a second for a while, as far as the writers come.
func (r *running) at(ctx context.Context, perSecond float64, long time.Duration) error {
	began, gap := time.Now(), time.Duration(float64(time.Second)/perSecond)
	var due atomic.Int64
	return loop.Together(ctx, peerWriters, func(ctx context.Context, _ int) error {
		for {
			at := time.Duration(due.Add(1)-1) * gap
			if at >= long {
				return nil
			}
			if err := loop.Sleep(ctx, at-time.Since(began)); err != nil {
				return err
			}
			if err := r.write(ctx); err != nil {
				return err
			}
		}
	})
}

// latencies answers commit to handler of the events from one on, in milliseconds; a handler that came first is 0.
func (r *running) latencies(from int) []float64 {
	var out []float64
	for n := from; n < int(r.next.Load()); n++ {
		if handled := r.tally.first[n].Load(); handled > 0 {
			out = append(out, max(0, float64(handled-r.committed[n].Load())/1e6))
		}
	}
	return out
}

// peak is how many events a second go all the way while writers write as fast as they can, the time to catch up with them included.
func (b *bench) peak(ctx context.Context, s peer.System) (perSecond float64, err error) {
	r, err := b.runningOne(ctx, s)
	if err != nil {
		return 0, err
	}
	defer r.close(&err)
	began := time.Now()
	if _, err := rig.Writers(ctx, peerWriters, b.plan.window, func(ctx context.Context, _, _ int) error { return r.write(ctx) }); err != nil {
		return 0, err
	}
	if err := r.tally.await(ctx, int(r.next.Load())); err != nil {
		return 0, err
	}
	return float64(r.tally.distinct.Load()) / time.Since(began).Seconds(), nil
}

// peersLatency measures commit to handler at shares of each system's own peak, and at half of it with a transaction open that began
// before all of them and pins xmin.
func peersLatency() group {
	var names []string
	for _, s := range peer.All() {
		names = append(names, "peers_peak_"+s.Name, "peers_pinned_p50_"+s.Name, "peers_pinned_p99_"+s.Name)
		for _, load := range loads {
			names = append(names, fmt.Sprintf("peers_p50_at_%d_%s", load, s.Name), fmt.Sprintf("peers_p99_at_%d_%s", load, s.Name))
		}
	}
	return group{name: "peers_latency", long: true, figures: names, measure: func(ctx context.Context, b *bench, _ *rig.Database) ([]figure.Figure, error) {
		var figures []figure.Figure
		for _, s := range peer.All() {
			more, err := b.latencyOf(ctx, s)
			figures = append(figures, more...)
			if err != nil {
				return figures, fmt.Errorf("%s: %w", s.Name, err)
			}
		}
		return figures, nil
	}}
}

func (b *bench) latencyOf(ctx context.Context, s peer.System) ([]figure.Figure, error) {
	var peaks []float64
	for range b.plan.repeats {
		peak, err := b.peak(ctx, s)
		if err != nil {
			return nil, err
		}
		peaks = append(peaks, peak)
	}
	peak := figure.Median(peaks)
	b.say("%s peak %s", s.Name, figure.Number(peak))
	figures := []figure.Figure{figure.Of(figure.Measured{Name: "peers_peak_" + s.Name, Unit: "events/s", Values: peaks})}
	for _, load := range loads {
		var p50, p99, missing []float64
		for range b.plan.repeats {
			r, err := b.paced(ctx, s, peak*float64(load)/100, b.plan.paced, false)
			if err != nil {
				return figures, err
			}
			p50, p99, missing = append(p50, r.p50), append(p99, r.p99), append(missing, r.missing)
		}
		sides := map[string][]float64{"missing": missing}
		figures = append(figures,
			figure.Of(figure.Measured{Name: fmt.Sprintf("peers_p50_at_%d_%s", load, s.Name), Unit: "ms", Values: p50, Sides: sides}),
			figure.Of(figure.Measured{Name: fmt.Sprintf("peers_p99_at_%d_%s", load, s.Name), Unit: "ms", Values: p99, Sides: sides}))
	}
	r, err := b.paced(ctx, s, peak/2, b.plan.pinned, true)
	if err != nil {
		return figures, err
	}
	sides := map[string][]float64{"missing": {r.missing}}
	return append(figures,
		figure.Of(figure.Measured{Name: "peers_pinned_p50_" + s.Name, Unit: "ms", Values: []float64{r.p50}, Sides: sides}),
		figure.Of(figure.Measured{Name: "peers_pinned_p99_" + s.Name, Unit: "ms", Values: []float64{r.p99}, Sides: sides})), nil
}

// pace is what a steady rate came to: the latencies of its last half.
type pace struct{ p50, p99, missing float64 }

func (b *bench) paced(ctx context.Context, s peer.System, perSecond float64, long time.Duration, pinned bool) (p pace, err error) {
	r, err := b.runningOne(ctx, s)
	if err != nil {
		return p, err
	}
	defer r.close(&err)
	if pinned {
		release, err := r.db.Hold(ctx, pinSQL, snapshotSQL)
		if err != nil {
			return p, err
		}
		defer release()
	}
	if err := r.at(ctx, perSecond, long/2); err != nil {
		return p, err
	}
	from := int(r.next.Load())
	if err := r.at(ctx, perSecond, long/2); err != nil {
		return p, err
	}
	recorded := int(r.next.Load())
	if err := r.tally.await(ctx, recorded); err != nil {
		return p, err
	}
	missing, _ := r.tally.check(recorded)
	values := r.latencies(from)
	if len(values) == 0 {
		return p, fmt.Errorf("nothing was handled at %s a second", figure.Number(perSecond))
	}
	b.say("%s at %s a second%s: p50 %.1f, p99 %.1f ms, %d missing", s.Name, figure.Number(perSecond), strings.Repeat(", pinned", btoi(pinned)),
		figure.Percentile(values, 50), figure.Percentile(values, 99), missing)
	return pace{figure.Percentile(values, 50), figure.Percentile(values, 99), float64(missing)}, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
