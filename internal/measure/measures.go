package measure

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/postbus/postbus/internal/loop"
)

// Config says whom Measures tells. The zero value tells the table only.
type Config struct {
	// Meter makes the instruments. Defaults to none.
	Meter metric.MeterProvider
	// Standing reads what the gauges show. Defaults to none: then there are no gauges of the database.
	Standing func(ctx context.Context) (Standing, error)
	// Deaf says that the listener does not hear. Defaults to none: then there is no gauge of it.
	Deaf func() bool
	// Log defaults to slog.Default().
	Log *slog.Logger
	// FlushEvery is the time between two flushes. Defaults to 10 s.
	FlushEvery time.Duration
	// ReadEvery is the least time between two reads of Standing. Defaults to 10 s.
	ReadEvery time.Duration
}

// Measures is what the rooms of one process report to. A nil one takes every report and does nothing.
type Measures struct {
	cfg         Config
	pool        *pgxpool.Pool
	cells       *cells
	instruments *instruments
	gauges      *gauges
	ticker      loop.Ticker
}

// New makes the instruments. Nothing touches the database before Start.
func New(pool *pgxpool.Pool, cfg Config) (*Measures, error) {
	if cfg.Meter == nil {
		cfg.Meter = noop.NewMeterProvider()
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	cfg.FlushEvery = cmp.Or(cfg.FlushEvery, 10*time.Second)
	m := &Measures{cfg: cfg, pool: pool, cells: newCells()}
	meter := cfg.Meter.Meter("github.com/postbus/postbus")
	var err error
	if m.instruments, err = newInstruments(meter); err != nil {
		return nil, fmt.Errorf("make the instruments: %w", err)
	}
	if m.gauges, err = newGauges(meter, cfg); err != nil {
		return nil, fmt.Errorf("make the gauges: %w", err)
	}
	m.ticker = loop.Ticker{Name: "stats", Interval: cfg.FlushEvery, Once: m.flush, Log: cfg.Log, Timeout: 2 * flushTimeout}
	return m, nil
}

// Start begins to flush and to show gauges. The table must be there.
func (m *Measures) Start(ctx context.Context) error {
	if m == nil {
		return nil
	}
	if err := m.gauges.register(); err != nil {
		return fmt.Errorf("show the gauges: %w", err)
	}
	m.ticker.Start(ctx)
	return nil
}

// Stop takes the gauges away and flushes what is left, within five seconds; what it cannot flush is said in the log and lost.
// Never started and twice are fine.
func (m *Measures) Stop(ctx context.Context) {
	if m == nil {
		return
	}
	m.gauges.unregister()
	m.ticker.Stop()
	if err := m.flush(ctx); err != nil {
		m.cfg.Log.WarnContext(ctx, "the counts of the last seconds are lost to stats.series", "error", err)
	}
}

// Pass is what one committed pass of the relay did.
type Pass struct {
	// Claimed, Fanned and Jobs are how many events it took and fanned out, and how many jobs it made.
	Claimed, Fanned, Jobs int
	// Took is how long it took.
	Took time.Duration
	// Recorded says when each event was recorded that was claimed for the first time.
	Recorded []time.Time
	// Lags says of each fanned event how long that was after its record.
	Lags []time.Duration
}

// Passed reports a pass that found something.
func (m *Measures) Passed(p Pass) {
	if m == nil || p.Claimed == 0 {
		return
	}
	m.instruments.passed(p)
	now := time.Now()
	minute := now.Unix() / 60
	c := m.cells
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count(key{minute, passes, ""}, p.Took)
	for _, at := range p.Recorded {
		if minute, ok := minuteOf(at, now); ok {
			c.at(key{minute, recorded, ""}, 1)
		}
	}
	if len(p.Lags) == 0 {
		return
	}
	if in := c.at(key{minute, fanned, ""}, int64(len(p.Lags))); in != nil {
		for _, lag := range p.Lags {
			in.add(max(lag, 0))
		}
	}
}

// JobEnded reports that a run's end was recorded: how long the job had waited since it was due, and how long the handler ran. Either
// may be Unknown.
func (m *Measures) JobEnded(kind string, outcome JobOutcome, waited, ran time.Duration) {
	if m == nil {
		return
	}
	minute := time.Now().Unix() / 60
	c := m.cells
	c.mu.Lock()
	label := c.label(kind)
	c.count(key{minute, outcome.series(), ""}, ran)
	c.count(key{minute, outcome.series(), label}, ran)
	if waited >= 0 {
		c.count(key{minute, jobsWait, ""}, waited)
	}
	c.mu.Unlock()
	m.instruments.jobEnded(label, outcome, waited, ran)
}

// DeliveryEnded reports the recorded end of an attempt, with the time from the request to the end of the answer; Unknown where a
// delivery was given up without one.
func (m *Measures) DeliveryEnded(outcome DeliveryOutcome, latency time.Duration) {
	if m == nil {
		return
	}
	m.instruments.deliveriesEnded(outcome, latency, 1)
	m.cells.mu.Lock()
	defer m.cells.mu.Unlock()
	m.cells.count(key{time.Now().Unix() / 60, outcome.series(), ""}, latency)
}

// DeliveriesGivenUp reports n deliveries that were discarded together, without an attempt.
func (m *Measures) DeliveriesGivenUp(n int64) {
	if m == nil || n <= 0 {
		return
	}
	m.instruments.deliveriesEnded(GivenUp, Unknown, n)
	m.cells.mu.Lock()
	defer m.cells.mu.Unlock()
	m.cells.at(key{time.Now().Unix() / 60, deliveryDiscarded, ""}, n)
}
