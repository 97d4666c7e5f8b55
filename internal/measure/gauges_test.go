package measure

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// scrape answers all that a reader finds, "name{labels}" and its value or count.
func scrape(t *testing.T, reader *sdkmetric.ManualReader) map[string]float64 {
	t.Helper()
	var found metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &found); err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, scope := range found.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					out[fmt.Sprint(m.Name, text(p.Attributes))] = float64(p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					out[fmt.Sprint(m.Name, text(p.Attributes))] = p.Value
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					out[fmt.Sprint(m.Name, text(p.Attributes))] = float64(p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					out[fmt.Sprint(m.Name, text(p.Attributes))] = float64(p.Count)
				}
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					out[fmt.Sprint(m.Name, text(p.Attributes))] = float64(p.Count)
				}
			default:
				t.Errorf("%s has a %T", m.Name, data)
			}
		}
	}
	return out
}

// text is " key=value" for each label.
func text(set attribute.Set) (out string) {
	for _, label := range set.ToSlice() {
		out += fmt.Sprintf(" %s=%s", label.Key, label.Value.AsString())
	}
	return out
}

// metered is a process whose meter the reader reads, and whose gauges are read each time.
func metered(t *testing.T, standing func(context.Context) (Standing, error), every time.Duration) (*Measures, *sdkmetric.ManualReader) {
	t.Helper()
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	m := process(t, nil, Config{Meter: provider, Standing: standing, Deaf: func() bool { return true }, ReadEvery: every, FlushEvery: time.Hour})
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.gauges.unregister(); m.ticker.Stop() })
	return m, reader
}

// The instruments tell what was reported, the gauges what stands.
func TestInstruments(t *testing.T) {
	t.Parallel()
	m, reader := metered(t, func(context.Context) (Standing, error) {
		return Standing{
			Lag: 1500 * time.Millisecond, Backlog: 7, Poisoned: 2, Jobs: []JobsStanding{{"index", "running", 3}},
			Deliveries: map[string]int64{"pending": 4}, Alerts: map[string]int64{"events_poisoned": 2},
		}, nil
	}, time.Nanosecond)
	all(m)
	want := map[string]float64{
		"postbus.events.recorded": 3, "postbus.events.fanout.duration": 2, "postbus.relay.pass.duration": 1,
		"postbus.relay.pass.size": 1, "postbus.relay.jobs": 4,
		"postbus.jobs.ended kind=index outcome=completed": 1, "postbus.jobs.ended kind=index outcome=retried": 1,
		"postbus.jobs.ended kind=index outcome=snoozed": 1, "postbus.jobs.ended kind=index outcome=discarded": 1,
		"postbus.jobs.ended kind=index outcome=cancelled": 1, "postbus.jobs.ended kind=mail outcome=completed": 1,
		"postbus.jobs.wait.duration kind=index":                  5,
		"postbus.jobs.run.duration kind=index outcome=cancelled": 1, "postbus.jobs.run.duration kind=index outcome=completed": 1,
		"postbus.jobs.run.duration kind=index outcome=discarded": 1, "postbus.jobs.run.duration kind=index outcome=retried": 1,
		"postbus.jobs.run.duration kind=index outcome=snoozed": 1,
		"postbus.deliveries.ended outcome=delivered":           1, "postbus.deliveries.ended outcome=failed": 1,
		"postbus.deliveries.ended outcome=discarded":   6,
		"postbus.deliveries.latency outcome=delivered": 1, "postbus.deliveries.latency outcome=failed": 1,
		"postbus.relay.lag": 1.5, "postbus.events.backlog": 7, "postbus.events.poisoned": 2, "postbus.listener.deaf": 1,
		"postbus.jobs.standing kind=index state=running": 3, "postbus.deliveries.standing state=pending": 4,
		"postbus.alerts.standing name=events_poisoned": 2,
	}
	if diff := cmp.Diff(want, scrape(t, reader)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A database that fails costs the gauges only, and is asked again no sooner than one that answers.
func TestFailingDatabaseDropsTheGauges(t *testing.T) {
	t.Parallel()
	asked, fails := 0, true
	read := func(context.Context) (Standing, error) {
		asked++
		if fails {
			return Standing{}, errors.New("away")
		}
		return Standing{Backlog: 1}, nil
	}
	m, reader := metered(t, read, time.Hour)
	m.DeliveryEnded(Delivered, time.Second)
	for range 3 {
		got := scrape(t, reader)
		if _, there := got["postbus.events.backlog"]; there || got["postbus.deliveries.ended outcome=delivered"] != 1 || got["postbus.listener.deaf"] != 1 {
			t.Errorf("scraped %v", got)
		}
	}
	if asked != 1 {
		t.Errorf("three scrapes asked a failing database %d times, want once", asked)
	}
	fails, m.gauges.read = false, time.Now().Add(-2*time.Hour)
	for range 3 {
		if got := scrape(t, reader); got["postbus.events.backlog"] != 1 {
			t.Errorf("scraped %v", got)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times, want twice", asked)
	}
}

// A read of the gauges is bounded: a database that is silent does not hold up a scrape.
func TestSilentDatabaseDoesNotBlock(t *testing.T) {
	t.Parallel()
	var left time.Duration
	_, reader := metered(t, func(ctx context.Context) (Standing, error) {
		if end, ok := ctx.Deadline(); ok {
			left = time.Until(end)
		}
		return Standing{}, context.DeadlineExceeded
	}, time.Hour)
	scrape(t, reader)
	if left <= 0 || left > readTimeout {
		t.Errorf("the read has %s, want at most %s", left, readTimeout)
	}
}

// After Stop nothing reads the database for a gauge, and one that starts later shows its own.
func TestStoppedShowsNoGauges(t *testing.T) {
	t.Parallel()
	m, reader := metered(t, func(context.Context) (Standing, error) { return Standing{}, nil }, time.Nanosecond)
	if _, there := scrape(t, reader)["postbus.events.backlog"]; !there {
		t.Error("no gauges while it runs")
	}
	m.Stop(t.Context())
	if _, there := scrape(t, reader)["postbus.events.backlog"]; there {
		t.Error("gauges after Stop")
	}
}

// The gauges tell as many kinds apart as the counts do.
func TestGaugesAreBounded(t *testing.T) {
	t.Parallel()
	_, reader := metered(t, func(context.Context) (standing Standing, _ error) {
		for i := range 3 * maxKinds {
			standing.Jobs = append(standing.Jobs, JobsStanding{fmt.Sprint("kind-", i), "pending", 1})
		}
		return standing, nil
	}, time.Hour)
	got := scrape(t, reader)
	if n := got["postbus.jobs.standing kind=(other) state=pending"]; n != 2*maxKinds || len(got) > maxKinds+10 {
		t.Errorf("%v others among %d metrics", n, len(got))
	}
}
