package postbus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/pg"
)

// Bus is one application's bus in one process.
type Bus struct {
	cfg      Config
	pool     *pgxpool.Pool
	listener *pg.Listener
	runtime  *river.Runtime
	events   *events.Bus

	mu      sync.Mutex
	started bool
}

// New checks the declarations and composes a bus. Nothing touches the database yet. The pool stays the caller's to close,
// after Stop.
func New(pool *pgxpool.Pool, cfg Config) (*Bus, error) {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	b := &Bus{cfg: cfg, pool: pool}
	b.listener = pg.NewListener(pool, pg.ListenerConfig{Conn: cfg.ListenConn, Log: cfg.Log})
	evCfg := cfg.eventsConfig()
	evCfg.Listener = b.listener
	var err error
	if b.events, err = events.New(pool, evCfg); err != nil {
		return nil, fmt.Errorf("postbus: %w", err)
	}
	if err := b.newRuntime(); err != nil {
		return nil, fmt.Errorf("postbus: %w", err)
	}
	b.events.Bind(b.runtime)
	return b, nil
}

func (b *Bus) newRuntime() error {
	kinds := append([]jobs.Kind{}, b.events.Kinds()...)
	for _, k := range b.cfg.Kinds {
		k, err := k.WithDefaults()
		if err != nil {
			return err
		}
		kinds = append(kinds, k)
	}
	queues, err := queuesFor(b.cfg.Queues, kinds)
	if err != nil {
		return err
	}
	maxConns := int(b.pool.Config().MaxConns)
	if err := fitBudget(maxConns, b.cfg.Queues, queues, kinds, b.cfg.Log); err != nil {
		return err
	}
	periodics := append(b.events.Periodics(), b.cfg.Periodics...)
	b.runtime, err = river.New(b.pool, river.Config{
		App: b.cfg.App, Version: b.cfg.Version, Kinds: kinds, Periodics: periodics, Queues: queues,
		Listener: b.listener, Log: b.cfg.Log, FetchPoll: b.cfg.PollInterval, StopGrace: b.cfg.StopGrace,
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
	if err := b.runtime.Start(ctx); err != nil {
		return err
	}
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
	err := b.runtime.Stop(ctx)
	b.events.Stop()
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

// Inspector looks at jobs and repairs them.
func (b *Bus) Inspector() jobs.Inspector { return b.runtime.Inspector() }

// Events reads events, waits for their fan-out, requeues them and answers the alerts.
func (b *Bus) Events() *events.Bus { return b.events }

// Wait waits until the job has ended, at most max, and answers its state and whether that is final.
func (b *Bus) Wait(ctx context.Context, id jobs.JobID, max time.Duration) (jobs.State, bool) {
	return b.runtime.Wait(ctx, id, max)
}
