package main

import (
	"context"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/peer"
	"github.com/postbus/postbus/bench/internal/rig"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/pg"
)

// payload is the size of an event's data beside peers.
const payload = 256

var crowds = []int{1, 3, 10, 30} // subscribers

// tally is the set check: which subscriber handled which event, and how often.
type tally struct {
	events, subscribers int
	times               []atomic.Int32
	first               []atomic.Int64 // nanoseconds since the epoch
	distinct            atomic.Int64
	strange             atomic.Int64 // what nobody recorded
}

func newTally(events, subscribers int) *tally {
	return &tally{events: events, subscribers: subscribers, times: make([]atomic.Int32, events*subscribers), first: make([]atomic.Int64, events)}
}

func (t *tally) handled(subscriber, event int) {
	if subscriber < 0 || subscriber >= t.subscribers || event < 0 || event >= t.events {
		t.strange.Add(1)
		return
	}
	if subscriber == 0 {
		t.first[event].CompareAndSwap(0, time.Now().UnixNano())
	}
	if t.times[subscriber*t.events+event].Add(1) == 1 {
		t.distinct.Add(1)
	}
}

// patience is how long nothing may happen before what is missing counts as lost.
const patience = 10 * time.Second

// await waits until want are handled, or nothing moves any more.
func (t *tally) await(ctx context.Context, want int) error {
	last, moved := int64(-1), time.Now()
	for {
		is := t.distinct.Load()
		if is >= int64(want) {
			return nil
		}
		if is != last {
			last, moved = is, time.Now()
		} else if time.Since(moved) > patience {
			return nil
		}
		if err := loop.Sleep(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
}

// check says what the set check found, of the events that were recorded.
func (t *tally) check(recorded int) (missing, again int) {
	for s := range t.subscribers {
		for e := range recorded {
			switch n := t.times[s*t.events+e].Load(); {
			case n == 0:
				missing++
			case n > 1:
				again += int(n) - 1
			}
		}
	}
	return missing, again
}

// drained is what one run of a system came to, from the first record to the last handler.
type drained struct {
	rate                    float64 // handled a second, once the backlog stood
	wal, dead, cpu, heap    float64 // a handled one: bytes, rows, seconds for 10,000; MiB at most
	missing, again, strange int
}

// drain records a backlog, then starts as many instances as asked for and waits until every subscriber has handled every event.
func (b *bench) drain(ctx context.Context, s peer.System, events, subscribers int) (d drained, err error) {
	db, err := b.server.Database(ctx, "bench_peer")
	if err != nil {
		return d, err
	}
	defer func() { _ = b.server.Drop(context.WithoutCancel(ctx), db) }()
	instance, err := s.Open(ctx, db, subscribers)
	if err != nil {
		return d, err
	}
	before, err := db.Cost(ctx)
	if err != nil {
		return d, err
	}
	if err := recordMany(ctx, db, instance, events); err != nil {
		return d, err
	}
	if _, err := db.Pool.Exec(ctx, "checkpoint"); err != nil {
		return d, err
	}
	t := newTally(events, subscribers)
	heap := watchHeap()
	began := time.Now()
	stop, err := instance.Start(ctx, t.handled)
	if err != nil {
		return d, err
	}
	err = t.await(ctx, events*subscribers)
	took := time.Since(began)
	stopping(ctx, stop, &err)
	d.heap = heap()
	if err != nil {
		return d, err
	}
	if d.missing, d.again = t.check(events); d.missing > 0 {
		took -= patience
	}
	d.strange = int(t.strange.Load())
	db.Quiet()
	_ = loop.Sleep(ctx, 100*time.Millisecond) // until the last session has ended
	after, err := db.Cost(ctx)
	cost, n := after.Minus(before), float64(t.distinct.Load())
	d.rate, d.wal, d.dead, d.cpu = n/took.Seconds(), float64(cost.WAL)/n, float64(cost.Dead)/n, 10_000*cost.CPU.Seconds()/n
	return d, err
}

const (
	together  = 4  // recorders at once
	inOneTx   = 50 // events of a transaction of the backlog
	mebibytes = 1 << 20
)

func recordMany(ctx context.Context, db *rig.Database, instance peer.Instance, events int) error {
	var next atomic.Int64
	return loop.Together(ctx, together, func(ctx context.Context, _ int) error {
		for {
			from := int(next.Add(inOneTx)) - inOneTx
			if from >= events {
				return nil
			}
			err := pg.InTx(ctx, db.Pool, func(ctx context.Context, tx pgx.Tx) error {
				for n := from; n < min(from+inOneTx, events); n++ {
					if err := instance.Record(ctx, tx, n, peer.Data(n, payload)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	})
}

// watchHeap looks at the heap until the function is called, which answers the most that was seen, in MiB.
func watchHeap() func() float64 {
	var most uint64
	var watching loop.Runner
	watching.Start(context.Background(), func(ctx context.Context) {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for ctx.Err() == nil {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			_ = loop.Sleep(ctx, 20*time.Millisecond)
		}
	})
	return func() float64 { watching.Stop(); return float64(most) / mebibytes }
}

// backlogOf is how much a system is given to handle: two to four seconds' worth.
func (b *bench) backlogOf(s peer.System, subscribers int) int {
	handled := map[string]int{"postbus_wide": 200_000, "watermill": 80_000, "outbox": 30_000, "outbox_shared": 100_000, "gue": 8_000, "postbus": 20_000}[s.Name]
	if handled == 0 {
		handled = 30_000
	}
	if b.plan.quick {
		handled /= 20
	}
	return max(handled/subscribers, 200)
}

// peersHandled measures how many (event, subscriber) pairs each system handles a second, with the set check and what that cost.
func peersHandled() group {
	var names []string
	for _, s := range peer.All() {
		for _, n := range crowds {
			names = append(names, named("peers_handled_"+s.Name, n))
		}
	}
	for _, n := range crowds {
		names = append(names, named("peers_wide_to_watermill", n), named("peers_wide_to_durable", n), named("peers_plain_to_river", n))
	}
	return group{name: "peers_handled", long: true, figures: names, measure: func(ctx context.Context, b *bench, _ *rig.Database) ([]figure.Figure, error) {
		var figures []figure.Figure
		for _, n := range crowds {
			if b.plan.quick && n != 1 && n != 10 {
				continue
			}
			more, err := b.crowd(ctx, n)
			if err != nil {
				return figures, err
			}
			figures = append(figures, more...)
		}
		return figures, nil
	}}
}

// crowd measures every system with n subscribers, in turns.
func (b *bench) crowd(ctx context.Context, n int) ([]figure.Figure, error) {
	costs := map[string]map[string][]float64{}
	var sides []side
	for _, s := range peer.All() {
		events := b.backlogOf(s, n)
		kept := map[string][]float64{}
		costs[s.Name] = kept
		sides = append(sides, side{s.Name, func(ctx context.Context) (float64, error) {
			d, err := b.drain(ctx, s, events, n)
			for name, v := range map[string]float64{
				"wal": d.wal, "dead": d.dead, "cpu": d.cpu, "heap": d.heap, "events": float64(events), "missing": float64(d.missing),
				"again": float64(d.again), "strange": float64(d.strange),
			} {
				kept[name] = append(kept[name], v)
			}
			if d.missing > 0 || d.strange > 0 {
				b.say("%s with %d subscribers: of %d events %d are missing, %d unheard of", s.Name, n, events, d.missing, d.strange)
			}
			return d.rate, err
		}})
	}
	rates, err := b.rounds(ctx, named("peers_handled", n), b.plan.repeats, sides)
	if err != nil {
		return nil, err
	}
	var figures []figure.Figure
	for _, s := range peer.All() {
		figures = append(figures, figure.Of(figure.Measured{
			Name: named("peers_handled_"+s.Name, n), Unit: "handled/s", Values: rates[s.Name], Sides: costs[s.Name], Note: s.How,
		}))
	}
	return append(figures, b.peerRatios(rates, n)...), nil
}

// peerRatios are the targets: round by round, Postbus over others.
func (b *bench) peerRatios(rates map[string][]float64, n int) []figure.Figure {
	var durable [][]float64
	for _, s := range peer.All() {
		if s.Durable && s.Name != "postbus" && s.Name != "postbus_wide" {
			durable = append(durable, rates[s.Name])
		}
	}
	best := make([]float64, len(rates["postbus"]))
	for _, of := range durable {
		for i, rate := range of {
			best[i] = max(best[i], rate)
		}
	}
	riverBest := make([]float64, len(best))
	for i := range riverBest {
		riverBest[i] = max(rates["river"][i], rates["river_tuned"][i])
	}
	ratio := func(name string, over, under []float64, target figure.Target) figure.Figure {
		return figure.Of(figure.Measured{Name: named(name, n), Unit: "ratio", Target: target, Values: ratios(over, under), Enough: !b.plan.quick})
	}
	var three, one figure.Target
	if n == 10 {
		three = figure.AtLeast(3)
	}
	if n == 1 {
		one = figure.AtLeast(1)
	}
	return []figure.Figure{
		ratio("peers_wide_to_watermill", rates["postbus_wide"], rates["watermill"], three),
		ratio("peers_wide_to_durable", rates["postbus_wide"], best, one),
		ratio("peers_plain_to_river", rates["postbus"], riverBest, figure.AtLeast(1)),
	}
}

// peersQueue shows what queue mode of watermill-sql, with four consumers of one topic, makes of a backlog.
func peersQueue() group {
	const name = "peers_queue_missing"
	return group{name: name, long: true, figures: []string{name}, measure: func(ctx context.Context, b *bench, _ *rig.Database) ([]figure.Figure, error) {
		s, err := peer.Named("watermill_queue")
		if err != nil {
			return nil, err
		}
		sides := map[string][]float64{}
		var missing []float64
		for range b.plan.repeats {
			events := b.backlogOf(s, 1)
			d, err := b.drain(ctx, s, events, 1)
			if err != nil {
				return nil, err
			}
			missing = append(missing, float64(d.missing))
			sides["events"], sides["again"], sides["rate"] = append(sides["events"], float64(events)), append(sides["again"], float64(d.again)), append(sides["rate"], d.rate)
		}
		return []figure.Figure{figure.Of(figure.Measured{Name: name, Unit: "events", Values: missing, Sides: sides, Note: s.How})}, nil
	}}
}
