package peer

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/vgarvardt/gue/v5"
	"github.com/vgarvardt/gue/v5/adapter/pgxv5"

	"github.com/postbus/postbus/bench/internal/rig"
	"github.com/postbus/postbus/internal/loop"
)

// gueSchema is migrations/schema.sql of the module.
const gueSchema = `
create table gue_jobs (
    job_id text not null primary key, priority smallint not null, run_at timestamptz not null, job_type text not null,
    args bytea not null, error_count integer not null default 0, last_error text, queue text not null,
    created_at timestamptz not null, updated_at timestamptz not null
);
create index idx_gue_jobs_selector on gue_jobs (queue, run_at, priority)`

func gueJobs() System {
	return System{
		Name: "gue",
		Setup: Setup{
			Title: "gue", Version: "v5.8.0", Durable: true,
			How: "the writer enqueues a job per subscriber (EnqueueBatchTx); 16 workers, one for each connection, polling every 10 ms",
		},
		open: func(ctx context.Context, db *rig.Database, subscribers int) (Instance, error) {
			if _, err := db.Pool.Exec(ctx, gueSchema); err != nil {
				return nil, err
			}
			client, err := gue.NewClient(pgxv5.NewConnPool(db.Pool))
			return &gueQueue{db: db, subscribers: subscribers, client: client}, err
		},
	}
}

type gueQueue struct {
	db          *rig.Database
	subscribers int
	client      *gue.Client
}

func (g *gueQueue) Record(ctx context.Context, tx pgx.Tx, _ int, data []byte) error {
	batch := make([]*gue.Job, g.subscribers)
	for s := range batch {
		batch[s] = &gue.Job{Type: subscriber(s), Args: data}
	}
	return g.client.EnqueueBatchTx(ctx, batch, pgxv5.NewTx(tx))
}

func (g *gueQueue) Start(ctx context.Context, handled Handled) (func(context.Context) error, error) {
	pool, err := g.db.NewPool(ctx, conns)
	if err != nil {
		return nil, err
	}
	client, err := gue.NewClient(pgxv5.NewConnPool(pool))
	if err != nil {
		return nil, err
	}
	work := gue.WorkMap{}
	for s := range g.subscribers {
		work[subscriber(s)] = func(_ context.Context, job *gue.Job) error {
			handled(s, numberOf(job.Args))
			return nil
		}
	}
	workers, err := gue.NewWorkerPool(client, work, conns, gue.WithPoolPollInterval(10*time.Millisecond))
	if err != nil {
		return nil, fmt.Errorf("gue: %w", err)
	}
	var running loop.Runner
	running.Start(context.WithoutCancel(ctx), func(ctx context.Context) { _ = workers.Run(ctx) })
	return func(context.Context) error { running.Stop(); return nil }, nil
}
