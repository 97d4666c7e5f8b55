package chaos

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/postbus/postbus/internal/faultproxy"
)

// networkKinds hit the way from one process, or from the writers, to Postgres.
func networkKinds() []kind {
	toBus := func(w *world, f *Fault) *faultproxy.Proxy { return w.buses[f.Target].proxy }
	all := broken("", networkLane, oneBus, toBus)
	return append(all,
		kind{name: "deaf", lane: networkLane, least: second, most: 6 * second, hits: oneBus,
			begin: func(_ context.Context, w *world, f *Fault) (func(context.Context) error, error) {
				p := toBus(w, f)
				p.DropNotifications(true)
				return func(context.Context) error { p.DropNotifications(false); return nil }, nil
			}},
		kind{name: "cut writers", lane: networkLane, least: second, most: 5 * second,
			begin: func(ctx context.Context, w *world, _ *Fault) (func(context.Context) error, error) {
				w.writersProxy.Delay(20 * time.Millisecond) // so that many a cut comes between a COMMIT and its answer
				turn := 0
				stop := repeated(ctx, 100*time.Millisecond, func(context.Context) {
					if turn++; turn%2 == 0 {
						w.writersProxy.Cut()
					} else {
						w.writersProxy.HalfClose() // COMMIT arrives, and its answer does not
					}
				})
				return func(ctx context.Context) error { w.writersProxy.Heal(); return stop(ctx) }, nil
			}},
	)
}

// sinkKinds hit the way to the receiver of webhooks, or are its answers.
func sinkKinds() []kind {
	all := broken("sink ", sinkLane, theSink, func(w *world, _ *Fault) *faultproxy.Proxy { return w.sinkProxy })
	for name, status := range map[string]int{"sink answers 500": 500, "sink answers 429": 429} {
		all = append(all, kind{name: name, lane: sinkLane, least: second, most: 6 * second, hits: theSink,
			begin: func(_ context.Context, w *world, _ *Fault) (func(context.Context) error, error) {
				w.sink.always(status)
				return func(context.Context) error { w.sink.always(0); return nil }, nil
			}})
	}
	return sortedByName(all)
}

// broken are the ways in which a network breaks.
func broken(prefix, lane string, hits victim, of func(*world, *Fault) *faultproxy.Proxy) []kind {
	held := func(do func(*faultproxy.Proxy, *Fault)) func(context.Context, *world, *Fault) (func(context.Context) error, error) {
		return func(_ context.Context, w *world, f *Fault) (func(context.Context) error, error) {
			p := of(w, f)
			do(p, f)
			return func(context.Context) error { p.Heal(); return nil }, nil
		}
	}
	again := func(every time.Duration, do func(*faultproxy.Proxy)) func(context.Context, *world, *Fault) (func(context.Context) error, error) {
		return func(ctx context.Context, w *world, f *Fault) (func(context.Context) error, error) {
			p := of(w, f)
			return repeated(ctx, every, func(context.Context) { do(p) }), nil
		}
	}
	return []kind{
		{name: prefix + "cut", lane: lane, least: second, most: 5 * second, hits: hits,
			begin: again(250*time.Millisecond, (*faultproxy.Proxy).Cut)},
		{name: prefix + "half-close", lane: lane, least: second, most: 5 * second, hits: hits,
			begin: again(300*time.Millisecond, (*faultproxy.Proxy).HalfClose)},
		{name: prefix + "refuse", lane: lane, least: second, most: 10 * second, hits: hits,
			begin: held(func(p *faultproxy.Proxy, _ *Fault) { p.Refuse() })},
		{name: prefix + "black hole", lane: lane, least: second, most: 14 * second, hits: hits,
			begin: held(func(p *faultproxy.Proxy, _ *Fault) { p.BlackHole() })},
		{name: prefix + "strand", lane: lane, least: second, most: 10 * second, hits: hits,
			begin: held(func(p *faultproxy.Proxy, _ *Fault) { p.Strand() })},
		{name: prefix + "delay", lane: lane, least: second, most: 6 * second, hits: hits,
			begin: held(func(p *faultproxy.Proxy, f *Fault) { p.Delay(time.Duration(20+f.Chance%200) * time.Millisecond) })},
		{name: prefix + "drip", lane: lane, least: second, most: 6 * second, hits: hits,
			begin: held(func(p *faultproxy.Proxy, f *Fault) { p.Drip(int(1000 + f.Chance%8000)) })},
	}
}

// sortedByName makes the plan of a seed independent of a map's order.
func sortedByName(kinds []kind) []kind {
	slices.SortFunc(kinds, func(a, b kind) int { return strings.Compare(a.name, b.name) })
	return kinds
}
