package postbus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/measure"
	"github.com/postbus/postbus/internal/tracing"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/bulk"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/mail"
	"github.com/postbus/postbus/pg"
	"github.com/postbus/postbus/webhooks"
	"github.com/postbus/postbus/work"
)

// Bus is one application's bus in one process.
type Bus struct {
	cfg      Config
	pool     *pgxpool.Pool
	listener *pg.Listener
	runtime  *river.Runtime
	events   *events.Bus
	bulk     *bulk.Service
	work     *work.Service
	webhooks *webhooks.Service // nil without Config.Webhooks
	mail     *mail.Service     // nil without Config.Mail
	measures *measure.Measures
	tracing  *tracing.Tracer // nil without Config.Tracer
	receipts atomic.Int64    // callers that wait for one

	mu      sync.Mutex
	started bool
}

// New checks the declarations and composes a bus. Nothing touches the database yet. The pool stays the caller's to close,
// after Stop.
func New(pool *pgxpool.Pool, cfg Config) (*Bus, error) {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	b := &Bus{cfg: cfg, pool: pool, bulk: bulk.New(pool, cfg.Log), tracing: tracing.New(cfg.Tracer)}
	b.listener = pg.NewListener(pool, pg.ListenerConfig{Conn: cfg.ListenConn, Log: cfg.Log})
	b.work = work.New(pool, work.Config{Listener: b.listener, Log: cfg.Log})
	for _, step := range []func() error{b.newMeasures, b.newWebhooks, b.newMail, b.newEvents, b.newRuntime} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("postbus: %w", err)
		}
	}
	b.events.Bind(b.runtime)
	b.bulk.Bind(b.runtime)
	b.work.Bind(b.events, b.runtime)
	if b.webhooks != nil {
		b.webhooks.Bind(b.events, b.runtime)
	}
	if b.mail != nil {
		b.mail.Bind(b.events, b.runtime)
	}
	return b, nil
}

func (b *Bus) newWebhooks() (err error) {
	if b.cfg.Webhooks == nil {
		return nil
	}
	cfg := *b.cfg.Webhooks
	if cfg.Log == nil {
		cfg.Log = b.cfg.Log
	}
	cfg.Tracing = b.tracing
	cfg.Measures = b.measures
	b.webhooks, err = webhooks.New(b.pool, cfg)
	return err
}

func (b *Bus) newMail() (err error) {
	if b.cfg.Mail == nil {
		return nil
	}
	cfg := *b.cfg.Mail
	if cfg.Log == nil {
		cfg.Log = b.cfg.Log
	}
	cfg.App = b.cfg.App
	b.mail, err = mail.New(b.pool, cfg)
	return err
}

func (b *Bus) newEvents() (err error) {
	cfg := b.cfg.eventsConfig()
	cfg.Listener, cfg.Tracing = b.listener, b.tracing
	cfg.Measures = b.measures
	if b.webhooks != nil {
		cfg.Subscriptions = append(slices.Clone(cfg.Subscriptions), b.webhooks.Subscriptions()...)
	}
	if b.mail != nil {
		cfg.Subscriptions = append(slices.Clone(cfg.Subscriptions), b.mail.Subscriptions()...)
	}
	if b.events, err = events.New(b.pool, cfg); err != nil || b.webhooks == nil {
		return err
	}
	b.events.AddReplayTarget(b.webhooks.ReplayTarget())
	b.events.AddAlerts(b.webhooks.AlertSource())
	return nil
}

func (b *Bus) newRuntime() error {
	kinds, periodics := append(b.events.Kinds(), b.bulk.Kinds()...), append(b.events.Periodics(), b.bulk.Periodics()...)
	periodics = append(append(slices.Clone(periodics), b.statsPeriodic()), b.work.Periodics()...)
	if b.webhooks != nil {
		kinds = append(slices.Clone(kinds), b.webhooks.Kinds()...)
		periodics = append(periodics, b.webhooks.Periodics()...)
	}
	if b.mail != nil {
		kinds = append(slices.Clone(kinds), b.mail.Kinds()...)
		periodics = append(periodics, b.mail.Periodics()...)
	}
	kinds = slices.Clone(kinds)
	for _, k := range b.cfg.Kinds {
		k, err := k.WithDefaults()
		if err != nil {
			return err
		}
		kinds = append(kinds, k)
	}
	queues, err := queuesFor(b.cfg.Queues, kinds, b.webhooks != nil)
	if err != nil {
		return err
	}
	maxConns, own := int(b.pool.Config().MaxConns), ownConns
	if b.webhooks != nil {
		own += webhookConns
	}
	if err := fitBudget(maxConns, own, b.cfg.Queues, queues, kinds, b.cfg.Log); err != nil {
		return err
	}
	b.runtime, err = river.New(b.pool, river.Config{
		App: b.cfg.App, Version: b.cfg.Version, Kinds: kinds, Periodics: append(periodics, b.cfg.Periodics...), Queues: queues,
		Listener: b.listener, Log: b.cfg.Log, FetchPoll: b.cfg.PollInterval, StopGrace: b.cfg.StopGrace,
		Measures: b.measures,
		Tracing:  b.tracing,
	})
	return err
}

// Migrate brings the tables up to date, ours and the queue's, and writes the declarations. It is idempotent and safe when
// several processes boot at once. Start does it too.
func (b *Bus) Migrate(ctx context.Context) error {
	if err := pg.Migrate(ctx, b.pool, river.Migrator()); err != nil {
		return fmt.Errorf("postbus: %w", err)
	}
	return b.Declare(ctx)
}

// Declare writes the declarations into tables that are up to date, so that events of their types can be recorded.
func (b *Bus) Declare(ctx context.Context) error {
	if err := b.events.Declare(ctx); err != nil {
		return fmt.Errorf("postbus: %w", err)
	}
	return nil
}

// Start migrates (unless Config.SkipMigrate), declares, and begins to relay and to work. It does not block. The bus runs
// until Stop; ctx bounds the start only.
func (b *Bus) Start(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.started {
		return errors.New("postbus: the bus is started already")
	}
	prepare := b.Migrate
	if b.cfg.SkipMigrate {
		prepare = b.Declare
	}
	if err := prepare(ctx); err != nil {
		return err
	}
	b.started = true
	if err := b.run(context.WithoutCancel(ctx)); err != nil {
		b.halt(ctx)
		return fmt.Errorf("postbus: %w", err)
	}
	return nil
}

func (b *Bus) run(ctx context.Context) error {
	if err := b.listener.Start(ctx); err != nil {
		return err
	}
	if err := b.measures.Start(ctx); err != nil {
		return err
	}
	if b.webhooks != nil {
		if err := b.webhooks.Start(ctx); err != nil {
			return err
		}
	}
	if b.mail != nil {
		if err := b.mail.Start(ctx); err != nil {
			return err
		}
	}
	if err := b.runtime.Start(ctx); err != nil {
		return err
	}
	b.work.Start(ctx)
	return b.events.Start(ctx)
}

// Stop ends the relay, lets running jobs finish within Config.StopGrace and cancels the rest, which go back to their queue.
// Never started and twice are fine. The bus cannot be started again.
func (b *Bus) Stop(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.started {
		return nil
	}
	return b.halt(ctx)
}

// halt stops from the top down: no new jobs, then no new work, then nobody listens.
func (b *Bus) halt(ctx context.Context) error {
	b.started = false
	b.events.StopRelay()
	if b.webhooks != nil {
		b.webhooks.StopPolling()
	}
	b.work.Stop()
	err := b.runtime.Stop(ctx)
	b.events.Stop()
	if b.webhooks != nil {
		b.webhooks.Stop()
	}
	b.measures.Stop(ctx) // the last: what the others did is counted
	b.listener.Stop()
	if err != nil {
		return fmt.Errorf("postbus: stop: %w", err)
	}
	return nil
}

// Recorder records events; use its With to record in your transaction.
func (b *Bus) Recorder() events.Recorder { return b.events.Recorder() }

// Jobs makes jobs; use its With to make them in your transaction.
func (b *Bus) Jobs() jobs.Jobs { return b.runtime }

// Runtime is both of these, for whoever builds on the ports.
func (b *Bus) Runtime() jobs.Runtime { return b.runtime }

// Inspector looks at jobs and repairs them.
func (b *Bus) Inspector() jobs.Inspector { return b.runtime.Inspector() }

// Bulk retries, cancels or acknowledges any number of jobs as one act in the background.
func (b *Bus) Bulk() *bulk.Service { return b.bulk }

// Work hands jobs of external kinds to workers in any language.
func (b *Bus) Work() *work.Service { return b.work }

// Events reads events, waits for their fan-out, requeues them and answers the alerts.
func (b *Bus) Events() *events.Bus { return b.events }

// Webhooks makes endpoints and looks after their deliveries; nil without Config.Webhooks.
func (b *Bus) Webhooks() *webhooks.Service { return b.webhooks }

// Mail makes rules and looks after their mails; nil without Config.Mail.
func (b *Bus) Mail() *mail.Service { return b.mail }

// Listener is the process's one connection that listens. The bus starts and stops it.
func (b *Bus) Listener() *pg.Listener { return b.listener }

// Alerts answers what a person should see to, of events, jobs and webhooks.
func (b *Bus) Alerts(ctx context.Context) ([]events.Alert, error) {
	alerts, err := b.events.Alerts(ctx)
	if err != nil || b.webhooks == nil {
		return alerts, err
	}
	more, err := b.webhooks.Alerts(ctx)
	return append(alerts, more...), err
}

// Listening answers how this process hears notifications.
func (b *Bus) Listening() pg.ListenerState { return b.listener.State() }

// Wait waits until the job has ended, at most max, and answers its state and whether that is final.
func (b *Bus) Wait(ctx context.Context, id jobs.JobID, max time.Duration) (jobs.State, bool) {
	return b.runtime.Wait(ctx, id, max)
}
