package measure

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// instruments are what a meter counts as things happen.
type instruments struct {
	recorded, jobsMade, jobsEnded, deliveries metric.Int64Counter
	passSize                                  metric.Int64Histogram
	lag, pass, wait, run, latency             metric.Float64Histogram

	byDelivery [deliveryOutcomes]measured
	mu         sync.RWMutex
	byJob      map[jobLabels]measured
	byKind     map[string]measured
}

type jobLabels struct {
	kind    string
	outcome JobOutcome
}

// measured are the options of one set of labels, made once: a call with them allocates nothing.
type measured struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

func labelled(labels ...attribute.KeyValue) measured {
	set := metric.WithAttributeSet(attribute.NewSet(labels...))
	return measured{add: []metric.AddOption{set}, record: []metric.RecordOption{set}}
}

func newInstruments(meter metric.Meter) (*instruments, error) {
	i := &instruments{byJob: map[jobLabels]measured{}, byKind: map[string]measured{}}
	for o := range deliveryOutcomes {
		i.byDelivery[o] = labelled(attribute.String("outcome", o.String()))
	}
	var failed error
	counter := func(name, unit, what string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
		failed = errors.Join(failed, err)
		return c
	}
	seconds := func(name, what string) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what),
			metric.WithExplicitBucketBoundaries(inSeconds(Bounds())...))
		failed = errors.Join(failed, err)
		return h
	}
	i.recorded = counter("postbus.events.recorded", "{event}", "Events that a relay found for the first time.")
	i.lag = seconds("postbus.events.fanout.duration", "Time from the record of an event until its jobs were committed.")
	i.pass = seconds("postbus.relay.pass.duration", "Time that a pass of the relay took; passes that found nothing are left out.")
	i.jobsMade = counter("postbus.relay.jobs", "{job}", "Jobs that the relay made of events.")
	i.jobsEnded = counter("postbus.jobs.ended", "{job}", "Ends of runs, by what they mean for the job.")
	i.wait = seconds("postbus.jobs.wait.duration", "Time that a job waited for its run since it was due.")
	i.run = seconds("postbus.jobs.run.duration", "Time that a job's handler ran.")
	i.deliveries = counter("postbus.deliveries.ended", "{delivery}", "Ends of attempts, by what they mean for the delivery.")
	i.latency = seconds("postbus.deliveries.latency", "Time from a webhook's request to the end of the answer.")
	size, err := meter.Int64Histogram("postbus.relay.pass.size", metric.WithUnit("{event}"),
		metric.WithDescription("Events that a pass of the relay claimed."),
		metric.WithExplicitBucketBoundaries(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000))
	i.passSize = size
	return i, errors.Join(failed, err)
}

func inSeconds(bounds []time.Duration) []float64 {
	out := make([]float64, len(bounds))
	for i, b := range bounds {
		out[i] = b.Seconds()
	}
	return out
}

func (i *instruments) passed(p Pass) {
	ctx := context.Background()
	i.pass.Record(ctx, p.Took.Seconds())
	i.passSize.Record(ctx, int64(p.Claimed))
	i.recorded.Add(ctx, int64(len(p.Recorded)))
	i.jobsMade.Add(ctx, int64(p.Jobs))
	for _, lag := range p.Lags {
		i.lag.Record(ctx, max(lag, 0).Seconds())
	}
}

func (i *instruments) jobEnded(kind string, outcome JobOutcome, waited, ran time.Duration) {
	ctx := context.Background()
	of, all := i.job(kind, outcome)
	i.jobsEnded.Add(ctx, 1, of.add...)
	if waited >= 0 {
		i.wait.Record(ctx, waited.Seconds(), all.record...)
	}
	if ran >= 0 {
		i.run.Record(ctx, ran.Seconds(), of.record...)
	}
}

// job answers the labels of a kind's outcome, and of the kind alone. There are at most maxKinds and one more.
func (i *instruments) job(kind string, outcome JobOutcome) (of, all measured) {
	k := jobLabels{kind, outcome}
	i.mu.RLock()
	of, known := i.byJob[k]
	all = i.byKind[kind]
	i.mu.RUnlock()
	if known {
		return of, all
	}
	of = labelled(attribute.String("kind", kind), attribute.String("outcome", outcome.String()))
	all = labelled(attribute.String("kind", kind))
	i.mu.Lock()
	defer i.mu.Unlock()
	i.byJob[k], i.byKind[kind] = of, all
	return of, all
}

func (i *instruments) deliveriesEnded(outcome DeliveryOutcome, latency time.Duration, n int64) {
	ctx, of := context.Background(), i.byDelivery[outcome]
	i.deliveries.Add(ctx, n, of.add...)
	if latency >= 0 {
		i.latency.Record(ctx, latency.Seconds(), of.record...)
	}
}
