package river

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/postbus/postbus/internal/instance"
	"github.com/postbus/postbus/internal/measure"
	"github.com/postbus/postbus/internal/tracing"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// Config says what one process runs, and how.
type Config struct {
	// App is the application. Required where Periodics are declared; dotted lower-case words.
	App string

	// Version is the application's, shown for the instance. Optional.
	Version string

	// Instance is the process's row among the living. Whoever made it starts it before Runtime.Start and stops it after
	// Runtime.Stop. Defaults to one of the runtime's own, which starts and stops with it.
	Instance *instance.Instance

	// Kinds are the kinds that this process runs. None, and no Periodics, makes a runtime that enqueues and inspects.
	Kinds []jobs.Kind

	// Periodics are run by the clock, on queue "maintenance".
	Periodics []jobs.Periodic

	// Queues maps a queue to its workers in this process. The kinds' queues that are missing get 4, "maintenance" 1.
	Queues map[string]int

	// Listener is the process's LISTEN connection; its owner starts it before Runtime.Start and stops it after
	// Runtime.Stop. Without it everything is found by polling.
	Listener *pg.Listener

	// PollOnly neither listens nor notifies, for databases behind a transaction pooler. Defaults to false.
	PollOnly bool

	// Trace answers ctx with the trace context that the job carries, before the handler is called. Optional.
	Trace func(ctx context.Context, traceparent string) context.Context

	// Tracing makes a span of each run whose job carries a trace. Defaults to none: what the handler does with its context is in
	// the trace that the job carries all the same, unless Trace is set.
	Tracing *tracing.Tracer

	// Measures is told how every run ended. Defaults to none.
	Measures *measure.Measures

	// Log defaults to slog.Default(). River's own messages appear in it from level Warn on.
	Log *slog.Logger

	// FetchCooldown is the least time between two fetches of a queue, and between two notifications of this process that
	// a queue has work. Defaults to 5 ms.
	FetchCooldown time.Duration

	// FetchPoll is the time between fetches that nobody asked for. Defaults to 1 s.
	FetchPoll time.Duration

	// ReapEvery is the time between searches for runs that are lost, overdue or to be cancelled. Defaults to 2 s.
	ReapEvery time.Duration

	// DeadAfter is the silence after which an instance is dead. Defaults to the Instance's, which is 8 s by default.
	DeadAfter time.Duration

	// StopGrace is how long Stop lets running jobs go on before it cancels their contexts. Defaults to 20 s.
	StopGrace time.Duration

	// CompletedRetention is how long completed jobs are kept. Defaults to 24 h. The leader's values count for all.
	CompletedRetention time.Duration

	// CancelledRetention is how long cancelled jobs are kept. Defaults to 24 h.
	CancelledRetention time.Duration

	// DiscardedRetention is how long discarded jobs are kept, once somebody has acknowledged them. Defaults to 30 days.
	DiscardedRetention time.Duration
}

const (
	defaultWorkers     = 4
	maintenanceWorkers = 1
	maxWorkers         = 10_000 // River's limit
	day                = 24 * time.Hour
)

func (c Config) withDefaults() Config {
	c.FetchCooldown = cmp.Or(c.FetchCooldown, 5*time.Millisecond)
	c.FetchPoll = cmp.Or(c.FetchPoll, time.Second)
	c.ReapEvery = cmp.Or(c.ReapEvery, 2*time.Second)
	c.StopGrace = cmp.Or(c.StopGrace, 20*time.Second)
	c.CompletedRetention = cmp.Or(c.CompletedRetention, day)
	c.CancelledRetention = cmp.Or(c.CancelledRetention, day)
	c.DiscardedRetention = cmp.Or(c.DiscardedRetention, 30*day)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.PollOnly {
		c.Listener = nil
	}
	return c
}

func (c Config) validate() error {
	for name, d := range map[string]time.Duration{
		"FetchCooldown": c.FetchCooldown, "FetchPoll": c.FetchPoll, "ReapEvery": c.ReapEvery, "StopGrace": c.StopGrace,
		"CompletedRetention": c.CompletedRetention, "CancelledRetention": c.CancelledRetention,
		"DiscardedRetention": c.DiscardedRetention,
	} {
		if d < time.Millisecond {
			return fmt.Errorf("%w: %s is %s; use 1ms or more", jobs.ErrInvalid, name, d)
		}
	}
	if c.FetchPoll < c.FetchCooldown {
		return fmt.Errorf("%w: FetchPoll is %s, shorter than FetchCooldown, %s", jobs.ErrInvalid, c.FetchPoll, c.FetchCooldown)
	}
	return nil
}

// queuesOf answers the queues that the process works on, each with its workers.
func queuesOf(given map[string]int, kinds map[string]*kind) (map[string]int, error) {
	queues := map[string]int{}
	for _, k := range kinds {
		if !k.External {
			queues[k.Queue] = defaultWorkers
		}
	}
	if _, ok := queues[jobs.MaintenanceQueue]; ok {
		queues[jobs.MaintenanceQueue] = maintenanceWorkers
	}
	maps.Copy(queues, given)
	for name, workers := range queues {
		if err := checkQueue(name); err != nil {
			return nil, err
		}
		if workers < 1 || workers > maxWorkers {
			return nil, fmt.Errorf("%w: queue %q has %d workers; use 1 to %d", jobs.ErrInvalid, name, workers, maxWorkers)
		}
	}
	return queues, nil
}
