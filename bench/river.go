package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// River direct: the peer that Postbus is built on, used as its documentation says, in a schema of its own.

const riverSchema = "riverdirect"

// riverArgs carry the event's payload, which a job without an outbox has to.
type riverArgs struct {
	Subject string          `json:"subject"`
	Data    json.RawMessage `json:"data"`
}

// Kind names the job for River.
func (riverArgs) Kind() string { return "bench_direct" }

type riverWorker struct {
	river.WorkerDefaults[riverArgs]
}

// Work does nothing.
func (riverWorker) Work(context.Context, *river.Job[riverArgs]) error { return nil }

func migrateRiver(ctx context.Context, pool *pgxpool.Pool) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: riverSchema, Logger: quiet()})
	if err != nil {
		return fmt.Errorf("river: %w", err)
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// riverInserting is a client that only inserts.
func riverInserting(pool *pgxpool.Pool) (*river.Client[pgx.Tx], error) {
	return river.NewClient(riverpgxv5.New(pool), &river.Config{Schema: riverSchema, Logger: quiet()})
}

// riverWorking is a client that works, tuned as Postbus tunes its own: at River's default cooldown of 100 ms it would fall
// behind the writers, and what does not run costs them nothing.
func riverWorking(pool *pgxpool.Pool) (*river.Client[pgx.Tx], error) {
	registry := river.NewWorkers()
	river.AddWorker(registry, riverWorker{})
	return river.NewClient(riverpgxv5.New(pool), &river.Config{
		Schema: riverSchema, Logger: quiet(), Workers: registry, FetchCooldown: 5 * time.Millisecond,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
	})
}

func insertingJob(client *river.Client[pgx.Tx]) second {
	return func(ctx context.Context, tx pgx.Tx, subject string, data changed) error {
		raw, err := json.Marshal(data)
		if err != nil {
			return err
		}
		_, err = client.InsertTx(ctx, tx, riverArgs{Subject: subject, Data: raw}, nil)
		return err
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
