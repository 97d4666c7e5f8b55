package river

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	riverqueue "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/internal/instance"
	"github.com/postbus/postbus/jobs"
)

// never is beyond what River's rescuer waits for; the pilot has nothing to rescue anyhow.
const never = 100 * 365 * day

// Runtime runs jobs on River. It is made by New.
type Runtime struct {
	cfg       Config
	pool      *pgxpool.Pool
	kinds     map[string]*kind
	queues    map[string]int
	self      *instance.Instance
	ownsSelf  bool
	store     store
	enqueuer  *enqueuer
	inspector *inspector
	leases    *leases
	mirror    *mirror
	waiters   *waiters
	waker     *waker
	flights   *flights
	settler   *settler
	reaper    *reaper
	clock     *clock
	client    *riverqueue.Client[pgx.Tx] // nil where no kind is declared

	mu      sync.Mutex
	started bool
}

var _ jobs.Runtime = (*Runtime)(nil)

// New makes a runtime that is not started. It can enqueue, inspect and wait at once. The tables must be there: see Migrator.
func New(pool *pgxpool.Pool, cfg Config) (*Runtime, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	queries := riversql.New(pool)
	periodics, err := newPeriodics(cfg.App, cfg.Periodics, queries)
	if err != nil {
		return nil, err
	}
	kinds, err := declare(cfg.Kinds, periodics.kinds())
	if err != nil {
		return nil, err
	}
	queues, err := queuesOf(cfg.Queues, kinds)
	if err != nil {
		return nil, err
	}
	r := &Runtime{cfg: cfg, pool: pool, store: newStore(pool), kinds: kinds, queues: queues, self: cfg.Instance, flights: newFlights()}
	if r.self == nil {
		r.ownsSelf = true
		r.self = instance.New(pool, instance.Config{App: cfg.App, Version: cfg.Version, Kinds: served(kinds), DeadAfter: cfg.DeadAfter, Log: cfg.Log})
	}
	r.wire(queries, periodics)
	return r, r.connect()
}

// wire makes the parts.
func (r *Runtime) wire(queries *riversql.Queries, periodics *periodics) {
	var ear *ear
	if len(served(r.kinds)) > 0 {
		ear = newEar(r.cfg.Listener, r.queues, r.cfg.Log)
	}
	r.waker = newWaker(queries, r.cfg, ear)
	r.enqueuer = &enqueuer{kinds: r.kinds, waker: r.waker, store: r.store}
	r.inspector = &inspector{store: r.store, queues: r.queues, enqueuer: r.enqueuer, ear: ear}
	r.leases = &leases{store: r.store}
	r.mirror = newMirror(r.cfg.App, r.kinds, queries, r.cfg.Log)
	r.waiters = newWaiters(queries, r.cfg.Listener, r.cfg.Log)
	r.settler = newSettler(r.store, r.flights, r.waker, r.cfg.Log)
	r.settler.measures = r.cfg.Measures
	deadAfter := r.cfg.DeadAfter
	if deadAfter <= 0 {
		deadAfter = r.self.DeadAfter()
	}
	r.reaper = newReaper(&reaper{
		queries: queries, store: r.store, self: r.self, deadAfter: deadAfter, flights: r.flights, waker: r.waker, ear: ear,
		measures: r.cfg.Measures,
	}, r.cfg, r.kinds)
	r.clock = newClock(r.pool, periodics, r.enqueuer, r.cfg.Log)
}

// connect makes River's client.
func (r *Runtime) connect() error {
	if len(served(r.kinds)) == 0 {
		return nil
	}
	workers := riverqueue.NewWorkers()
	riverqueue.AddWorkerArgs(workers, rawArgs{kinds: served(r.kinds)}, riverqueue.Worker[rawArgs](unreachable{}))
	queues := map[string]riverqueue.QueueConfig{}
	for name, n := range r.queues {
		queues[storedQueue(name)] = riverqueue.QueueConfig{MaxWorkers: n}
	}
	client, err := riverqueue.NewClient(r.driver(), &riverqueue.Config{
		CancelledJobRetentionPeriod: r.cfg.CancelledRetention, CompletedJobRetentionPeriod: r.cfg.CompletedRetention,
		DiscardedJobRetentionPeriod: r.cfg.DiscardedRetention,
		FetchCooldown:               r.cfg.FetchCooldown, FetchPollInterval: r.cfg.FetchPoll, FetchOnlyKnownKinds: true,
		ID: r.self.ID(), JobTimeout: -1, RescueStuckJobsAfter: never, Schema: schema, SkipUnknownJobCheck: true,
		SoftStopTimeout: r.cfg.StopGrace, Logger: quietLogger(r.cfg.Log), Queues: queues, Workers: workers,
		ReindexerIndexNames: []string{"postbus_job_fetching", "postbus_job_group", "postbus_job_args", "river_job_unique_idx"},
		Plugins: []rivertype.Plugin{&runner{
			kinds: r.kinds, flights: r.flights, settler: r.settler, trace: r.cfg.Trace, tracing: r.cfg.Tracing, log: r.cfg.Log,
		}},
	})
	if err != nil {
		return fmt.Errorf("make River's client: %w", err)
	}
	r.client = client
	return nil
}

func (r *Runtime) driver() *driver {
	plain := riverpgxv5.New(r.pool)
	return &driver{
		Driver: plain, ear: r.reaper.ear,
		pilot: &pilot{
			kinds: served(r.kinds), ear: r.reaper.ear, store: r.store, flights: r.flights, settler: r.settler, driver: plain,
			pruner: &pruner{store: r.store, cfg: r.cfg},
		},
	}
}

// With answers a Jobs that writes through tx.
func (r *Runtime) With(tx pgx.Tx) jobs.Jobs { return r.enqueuer.With(tx) }

// Enqueue makes one job.
func (r *Runtime) Enqueue(ctx context.Context, kind string, args any, opts jobs.EnqueueOpts) (jobs.JobID, error) {
	return r.enqueuer.Enqueue(ctx, kind, args, opts)
}

// EnqueueMany makes a batch of jobs in one round trip.
func (r *Runtime) EnqueueMany(ctx context.Context, batch []jobs.EnqueueParams) ([]jobs.JobID, error) {
	return r.enqueuer.EnqueueMany(ctx, batch)
}

// Leases hands jobs of external kinds to workers.
func (r *Runtime) Leases() jobs.Leases { return r.leases }

// Inspector looks at and repairs jobs.
func (r *Runtime) Inspector() jobs.Inspector { return r.inspector }

// Wait waits until the job has ended, at most most.
func (r *Runtime) Wait(ctx context.Context, id jobs.JobID, most time.Duration) (jobs.State, bool) {
	return r.waiters.wait(ctx, id, most)
}

// ConnBudget is how many connections the runtime may hold at a time: one for River's fetches and upkeep, two for records,
// and one for each worker whose handler may hold one. LISTEN is the Listener's and not among them.
func (r *Runtime) ConnBudget() int {
	if len(r.kinds) == 0 {
		return 0
	}
	holding := map[string]bool{}
	for _, k := range r.kinds {
		if k.HoldsConn {
			holding[k.Queue] = true
		}
	}
	const own = 3
	total := own
	for queue := range holding {
		total += r.queues[queue]
	}
	return total
}
