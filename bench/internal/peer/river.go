package peer

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/postbus/postbus/bench/internal/rig"
)

// riverSchema keeps it apart from Postbus's own River.
const riverSchema = "riverdirect"

func riverDefault() System {
	return riverSystem("river", "River direct, defaults", "the writer inserts a job per subscriber (InsertManyFastTx); 100 workers, else the defaults", func(c *river.Config) {
		c.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 100}}
	})
}

func riverTuned() System {
	return riverSystem("river_tuned", "River direct, tuned", "the same with 1,000 workers and a FetchCooldown of 5 ms", func(c *river.Config) {
		c.FetchCooldown, c.FetchPollInterval = 5*time.Millisecond, 50*time.Millisecond
		c.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 1000}}
	})
}

func riverSystem(name, title, how string, tune func(*river.Config)) System {
	return System{
		Name:  name,
		Setup: Setup{Title: title, Version: "v0.51.2", How: how, Durable: true},
		open: func(ctx context.Context, db *rig.Database, subscribers int) (Instance, error) {
			migrator, err := rivermigrate.New(riverpgxv5.New(db.Pool), &rivermigrate.Config{Schema: riverSchema, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				return nil, err
			}
			if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
				return nil, err
			}
			r := &direct{db: db, subscribers: subscribers, tune: tune}
			r.inserter, err = river.NewClient(riverpgxv5.New(db.Pool), &river.Config{Schema: riverSchema, Logger: slog.New(slog.DiscardHandler)})
			return r, err
		},
	}
}

type direct struct {
	db          *rig.Database
	subscribers int
	inserter    *river.Client[pgx.Tx]
	tune        func(*river.Config)
}

type directArgs struct {
	Subscriber int             `json:"s"`
	Event      int             `json:"e"`
	Data       json.RawMessage `json:"data"`
}

// Kind names the job for River.
func (directArgs) Kind() string { return "bench_peer" }

type directWorker struct {
	river.WorkerDefaults[directArgs]
	handled Handled
}

// Work handles one event for one subscriber.
func (w *directWorker) Work(_ context.Context, job *river.Job[directArgs]) error {
	w.handled(job.Args.Subscriber, job.Args.Event)
	return nil
}

func (r *direct) Record(ctx context.Context, tx pgx.Tx, n int, data []byte) error {
	params := make([]river.InsertManyParams, r.subscribers)
	for s := range params {
		params[s].Args = directArgs{s, n, data}
	}
	_, err := r.inserter.InsertManyFastTx(ctx, tx, params)
	return err
}

func (r *direct) Start(ctx context.Context, handled Handled) (func(context.Context) error, error) {
	pool, err := r.db.NewPool(ctx, conns)
	if err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &directWorker{handled: handled})
	cfg := &river.Config{Schema: riverSchema, Logger: slog.New(slog.DiscardHandler), Workers: workers}
	r.tune(cfg)
	client, err := river.NewClient(riverpgxv5.New(pool), cfg)
	if err != nil {
		return nil, fmt.Errorf("river: %w", err)
	}
	return client.Stop, client.Start(ctx)
}
