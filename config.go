package postbus

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/mail"
	"github.com/postbus/postbus/webhooks"
)

// Config is what an application declares and how its bus runs. Only App is needed.
type Config struct {
	// App names the application on the database: dotted lower-case words. Its declarations belong to it.
	App string
	// Version is shown for the instance. Optional.
	Version string

	// Types, Subscriptions and Captures declare what is recorded and who is told.
	Types         []events.Type
	Subscriptions []events.Subscription
	Captures      []events.Capture
	// Kinds and Periodics declare work that no event starts.
	Kinds     []jobs.Kind
	Periodics []jobs.Periodic

	// Webhooks delivers events of types with the exposure events.Webhook to the endpoints of their owners. Defaults to off: the
	// events are recorded all the same, and wait for nobody.
	Webhooks *webhooks.Config

	// Mail sends mails about events by rules, which are rows, and those of Config.Mail.Rules. Defaults to off: no event makes a mail.
	Mail *mail.Config

	// Queues is the number of workers per queue in this process. Defaults to index 4, notify 2, maintenance 1, those of
	// webhooks.Queues where webhooks are on and of mail.Queues where mail is, and 4 for every other queue that a kind or subscription names, scaled down where
	// the pool is small.
	Queues map[string]int

	// ListenConn is how to connect for LISTEN where the pool goes through a pooler in transaction mode, which swallows it:
	// the server itself. Defaults to the pool's way; where that is deaf everything works by polling.
	ListenConn *pgx.ConnConfig

	// Log defaults to slog.Default().
	Log *slog.Logger
	// Tracer makes the spans of recording, fan-out, jobs and webhook requests, one trace for all that follows from an event.
	// Defaults to none: a trace that the application has in its context is stored and carried on to jobs and receivers all the same.
	Tracer trace.TracerProvider
	// Trace answers the traceparent to record with an event, "" for none. Defaults to that of the span in ctx.
	Trace func(ctx context.Context) string

	// Meter counts and times what happens and shows what stands; docs/operations.md has the names. Defaults to none: the counts of
	// each minute, which stats.series shows, are kept all the same.
	Meter metric.MeterProvider

	// MaxDataBytes is the limit of an event's data. Defaults to 256 KiB.
	MaxDataBytes int
	// Retention is how long fanned events are kept at least. Defaults to 7 days.
	Retention time.Duration
	// BatchSize is the most events that one pass of the relay claims. Defaults to 200, and to 1,000 while there is a backlog whose events make
	// few jobs.
	BatchSize int
	// PollInterval is how long an event or a job may wait where no notification arrives. Defaults to 1 s.
	PollInterval time.Duration
	// BackoffBase and BackoffMax bound the wait after a failed pass and of a failed event. Default to 2 s and 1 min.
	BackoffBase, BackoffMax time.Duration
	// StopGrace is how long Stop lets running jobs finish. Defaults to 20 s.
	StopGrace time.Duration
	// AlertOwner is the owner of the events postbus.alert.raised and postbus.alert.cleared: an endpoint of this owner, or a
	// subscription, gets them. Applications on one database that say different owners tell each of them. Defaults to "postbus".
	AlertOwner string
	// SkipMigrate leaves the tables to whoever migrates: Start then only declares. Defaults to false.
	SkipMigrate bool
}

// defaultQueues are the workers of the queues that come with the house.
func defaultQueues() map[string]int {
	return map[string]int{"index": 4, "notify": 2, jobs.MaintenanceQueue: 1}
}

const (
	defaultWorkers    = 4
	defaultAlertOwner = "postbus"
)

func (c Config) eventsConfig() events.Config {
	return events.Config{
		App: c.App, Types: c.Types, Subscriptions: c.Subscriptions, Captures: c.Captures,
		Log: c.Log, Trace: c.Trace, MaxDataBytes: c.MaxDataBytes, Retention: c.Retention,
		AlertOwner: cmp.Or(c.AlertOwner, defaultAlertOwner), BatchSize: c.BatchSize, PollInterval: c.PollInterval, BackoffBase: c.BackoffBase, BackoffMax: c.BackoffMax,
	}
}
