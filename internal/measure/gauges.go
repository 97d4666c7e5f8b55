package measure

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Standing is what stands at a moment: what the gauges show.
type Standing struct {
	// Lag is how long the oldest event has waited for a relay.
	Lag time.Duration
	// Backlog and Poisoned are how many events wait for a relay, and were set aside; counting may stop at a cap.
	Backlog, Poisoned int64
	// Jobs are those that need a worker or an operator.
	Jobs []JobsStanding
	// Deliveries counts webhook deliveries by state, Alerts what each alert is about by its name.
	Deliveries, Alerts map[string]int64
}

// JobsStanding are one kind's jobs in one state.
type JobsStanding struct {
	Kind, State string
	N           int64
}

// readTimeout bounds a read of what stands: a scrape waits for it.
const readTimeout = 2 * time.Second

// gauges show what stands, to whoever asks the meter.
type gauges struct {
	cfg   Config
	meter metric.Meter

	lag                                               metric.Float64ObservableGauge
	backlog, poisoned, jobs, deliveries, alerts, deaf metric.Int64ObservableGauge

	regMu        sync.Mutex
	registration metric.Registration

	mu   sync.Mutex
	read time.Time
	last *Standing // nil where the database did not answer
}

func newGauges(meter metric.Meter, cfg Config) (*gauges, error) {
	cfg.ReadEvery = cmp.Or(cfg.ReadEvery, 10*time.Second)
	g := &gauges{cfg: cfg, meter: meter}
	var failed error
	gauge := func(name, unit, what string) metric.Int64ObservableGauge {
		made, err := meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(what))
		failed = errors.Join(failed, err)
		return made
	}
	lag, err := meter.Float64ObservableGauge("postbus.relay.lag", metric.WithUnit("s"),
		metric.WithDescription("For how long the oldest event has waited for a relay."))
	g.lag = lag
	g.backlog = gauge("postbus.events.backlog", "{event}", "Events that wait for a relay.")
	g.poisoned = gauge("postbus.events.poisoned", "{event}", "Events that could not be fanned out and are set aside.")
	g.jobs = gauge("postbus.jobs.standing", "{job}", "Jobs that need a worker or an operator.")
	g.deliveries = gauge("postbus.deliveries.standing", "{delivery}", "Webhook deliveries that wait, and discarded ones that nobody has acknowledged.")
	g.alerts = gauge("postbus.alerts.standing", "{thing}", "How many things an alert is about; an alert that does not stand is left out.")
	g.deaf = gauge("postbus.listener.deaf", "", "1 where notifications do not arrive and everything works by polling, else 0.")
	return g, errors.Join(failed, err)
}

// register begins to answer.
func (g *gauges) register() (err error) {
	g.regMu.Lock()
	defer g.regMu.Unlock()
	if g.registration == nil {
		g.registration, err = g.meter.RegisterCallback(g.observe,
			g.lag, g.backlog, g.poisoned, g.jobs, g.deliveries, g.alerts, g.deaf)
	}
	return err
}

// unregister ends it: a reader that is shut down later finds nothing to ask.
func (g *gauges) unregister() {
	g.regMu.Lock()
	defer g.regMu.Unlock()
	if g.registration != nil {
		_ = g.registration.Unregister() // it cannot fail while it is registered
		g.registration = nil
	}
}

// observe never fails: an error would cost the reader all the other metrics.
func (g *gauges) observe(ctx context.Context, o metric.Observer) error {
	if g.cfg.Deaf != nil {
		n := int64(0)
		if g.cfg.Deaf() {
			n = 1
		}
		o.ObserveInt64(g.deaf, n)
	}
	now := g.standing(ctx)
	if now == nil {
		return nil
	}
	o.ObserveFloat64(g.lag, now.Lag.Seconds())
	o.ObserveInt64(g.backlog, now.Backlog)
	o.ObserveInt64(g.poisoned, now.Poisoned)
	for _, j := range bounded(now.Jobs) {
		o.ObserveInt64(g.jobs, j.N, metric.WithAttributes(attribute.String("kind", j.Kind), attribute.String("state", j.State)))
	}
	for state, n := range now.Deliveries {
		o.ObserveInt64(g.deliveries, n, metric.WithAttributes(attribute.String("state", state)))
	}
	for name, n := range now.Alerts {
		o.ObserveInt64(g.alerts, n, metric.WithAttributes(attribute.String("name", name)))
	}
	return nil
}

// standing answers what stands, as read at most ReadEvery ago, or nil. Readers that ask at once share a read.
func (g *gauges) standing(ctx context.Context) *Standing {
	if g.cfg.Standing == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.read.IsZero() && time.Since(g.read) < g.cfg.ReadEvery {
		return g.last
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	found, err := g.cfg.Standing(ctx)
	if err != nil {
		if g.last != nil || g.read.IsZero() { // once per outage
			g.cfg.Log.WarnContext(ctx, "the gauges are left out until what stands can be read again", "error", err)
		}
		g.read, g.last = time.Now(), nil
		return nil
	}
	g.read, g.last = time.Now(), &found
	return g.last
}

// bounded adds up the jobs of all kinds beyond the limit.
func bounded(all []JobsStanding) []JobsStanding {
	kinds, others := map[string]bool{}, map[string]int64{}
	var out []JobsStanding
	for _, j := range all {
		if !kinds[j.Kind] && len(kinds) >= maxKinds {
			others[j.State] += j.N
			continue
		}
		kinds[j.Kind] = true
		out = append(out, j)
	}
	for state, n := range others {
		out = append(out, JobsStanding{Kind: otherKinds, State: state, N: n})
	}
	return out
}
