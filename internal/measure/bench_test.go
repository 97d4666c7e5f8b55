package measure

import (
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// What a pass of 200 events and the end of a job cost, with no meter and with one.
func BenchmarkReport(b *testing.B) {
	p := Pass{Claimed: 200, Fanned: 200, Jobs: 400, Took: 20 * time.Millisecond}
	for i := range 200 {
		p.Recorded = append(p.Recorded, time.Now())
		p.Lags = append(p.Lags, time.Duration(i)*time.Millisecond)
	}
	for name, cfg := range map[string]Config{
		"none": {}, "meter": {Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))},
	} {
		m := process(b, nil, cfg)
		b.Run("pass/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Passed(p)
			}
		})
		b.Run("job/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.JobEnded("index", Completed, 3*time.Millisecond, 10*time.Millisecond)
			}
		})
		b.Run("delivery/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.DeliveryEnded(Delivered, 40*time.Millisecond)
			}
		})
	}
}

// A report of what was reported before allocates nothing.
func TestReportsDoNotAllocate(t *testing.T) {
	m := process(t, nil, Config{Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))})
	p := Pass{Claimed: 1, Fanned: 1, Jobs: 1, Recorded: []time.Time{time.Now()}, Lags: []time.Duration{time.Second}}
	allocs := testing.AllocsPerRun(1000, func() {
		m.Passed(p)
		m.JobEnded("index", Completed, time.Millisecond, time.Second)
		m.DeliveryEnded(Delivered, time.Second)
	})
	if allocs > 0 { // a new minute's cells count for nothing among a thousand
		t.Errorf("%v allocations", allocs)
	}
}
