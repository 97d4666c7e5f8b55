package events

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/measure"
	"github.com/postbus/postbus/internal/tracing"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// Config declares what an application records and who is told, and tunes the relay. Only App is needed.
type Config struct {
	// App names the application on this database; its declarations belong to it.
	App string
	// Types, Subscriptions and Captures are the declarations.
	Types         []Type
	Subscriptions []Subscription
	Captures      []Capture
	// Listener wakes the relay and the waiters. Without one both poll.
	Listener *pg.Listener
	// Log defaults to slog.Default().
	Log *slog.Logger
	// Trace answers the traceparent to record with an event, "" for none. Defaults to that of the span in ctx.
	Trace func(ctx context.Context) string
	// Tracing makes the spans of recording and fan-out. Defaults to none.
	Tracing *tracing.Tracer

	// Measures is told of every pass. Defaults to none.
	Measures *measure.Measures

	// MaxDataBytes is the limit of an event's data. Defaults to 256 KiB; range 1 KiB to 16 MiB. A value other than the default is
	// written for SQL callers too, and stands for them until another one is.
	MaxDataBytes int
	// BatchSize is the most events that one pass claims. Defaults to 200, and to 1,000 while there is a backlog whose events make few
	// jobs, as those of wide subscriptions do; range 1 to 1,000.
	BatchSize int
	deepBatch int // what it is in such a backlog
	// PollInterval is how long an unheard-of event may wait where no notification arrives. Defaults to 1 s.
	PollInterval time.Duration
	// PassGap is the pause between passes while there is work, so that they batch. Defaults to 3 ms.
	PassGap time.Duration
	// BackoffBase and BackoffMax bound the wait after a failed pass and of a failed event. Default to 2 s and 1 min.
	BackoffBase, BackoffMax time.Duration
	// MaxFailures is how often an event may fail before it is poisoned. Defaults to 5.
	MaxFailures int
	// Retention is how long fanned events are kept at least. Defaults to 7 days.
	Retention time.Duration
	// AlertOwner is the owner of the events that tell of alerts: AlertRaised and AlertCleared. Without one nobody is told.
	AlertOwner string
}

const (
	defaultMaxDataBytes = 256 << 10
	defaultBatchSize    = 200
	maxBatchSize        = 1000
	fullScanEvery       = 2 * time.Second
	passTimeout         = 30 * time.Second
	heartbeatEvery      = 5 * time.Second
	// together is how far apart two heartbeats of one name may lie and both count as living.
	together = 30 * time.Second
	// grace is how long a subscription stays active after its last declarer was seen.
	grace = 24 * time.Hour
)

func (c Config) withDefaults() (Config, error) {
	if err := jobs.CheckName("application", c.App); err != nil {
		return c, err
	}
	if err := checkText("AlertOwner", c.AlertOwner); err != nil {
		return c, err
	}
	c.MaxDataBytes = orDefault(c.MaxDataBytes, defaultMaxDataBytes)
	c.deepBatch = orDefault(c.BatchSize, maxBatchSize)
	c.BatchSize = orDefault(c.BatchSize, defaultBatchSize)
	c.PollInterval = orDefault(c.PollInterval, time.Second)
	c.PassGap = orDefault(c.PassGap, 3*time.Millisecond)
	c.BackoffBase = orDefault(c.BackoffBase, 2*time.Second)
	c.BackoffMax = orDefault(c.BackoffMax, time.Minute)
	c.MaxFailures = orDefault(c.MaxFailures, 5)
	c.Retention = orDefault(c.Retention, 7*24*time.Hour)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	for _, limit := range []struct {
		name          string
		is, low, high int
	}{
		{"MaxDataBytes", c.MaxDataBytes, 1 << 10, 16 << 20},
		{"BatchSize", c.BatchSize, 1, maxBatchSize},
		{"MaxFailures", c.MaxFailures, 1, 1000},
	} {
		if limit.is < limit.low || limit.is > limit.high {
			return c, fmt.Errorf("%w: %s is %d; use %d to %d", ErrInvalid, limit.name, limit.is, limit.low, limit.high)
		}
	}
	return c, nil
}

func orDefault[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

// Bus is one application's side of the outbox in one process.
type Bus struct {
	cfg     Config
	pool    *pgxpool.Pool
	types   []Type
	mirror  *mirror
	relay   *relay
	await   *awaiter
	watch   *watch
	loader  *loader
	kinds   []jobs.Kind
	runtime jobs.Runtime

	retainers     []Retainer
	replayTargets []ReplayTarget
}

// New checks the declarations and composes a Bus. Nothing touches the database yet.
func New(pool *pgxpool.Pool, cfg Config) (*Bus, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &Bus{cfg: cfg, pool: pool}
	if err := b.collect(); err != nil {
		return nil, err
	}
	b.mirror = newMirror(b)
	b.relay = newRelay(b)
	b.await = newAwaiter(pool, cfg)
	b.watch = newWatch(b)
	b.loader = &loader{pool: pool}
	b.replayTargets = []ReplayTarget{subscriptionReplay{b}}
	b.retainers = []Retainer{replayedJobs{b}}
	return b, nil
}

// collect checks types, subscriptions and captures, and makes the subscriptions' kinds.
func (b *Bus) collect() error {
	seen := map[string]bool{}
	for _, t := range b.cfg.Types {
		t, err := t.withDefaults()
		if err != nil {
			return err
		}
		if seen[t.Name] {
			return fmt.Errorf("%w: event type %q is declared twice", ErrInvalid, t.Name)
		}
		seen[t.Name] = true
		b.types = append(b.types, t)
	}
	names := map[string]bool{}
	for _, s := range b.cfg.Subscriptions {
		if err := s.check(); err != nil {
			return err
		}
		if names[s.Name] {
			return fmt.Errorf("%w: subscription %q is declared twice", ErrInvalid, s.Name)
		}
		kind, err := s.kind()
		if err != nil {
			return fmt.Errorf("subscription %q: %w", s.Name, err)
		}
		if !s.External {
			kind.Handle = b.handle(s, kind.Timeout)
		}
		kind.Timeout = s.jobTimeout(kind.Timeout)
		names[s.Name] = true
		b.kinds = append(b.kinds, kind)
	}
	return checkCaptures(b.cfg.Captures)
}
