package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/dbsqlc/worksql"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// Config is what a Service needs beside the pool.
type Config struct {
	// Listener wakes claims that wait. Without it they look once a second.
	Listener *pg.Listener
	// Log defaults to slog.Default().
	Log *slog.Logger
}

// Service hands work to workers outside of Go processes.
type Service struct {
	pool    *pgxpool.Pool
	tx      pgx.Tx // nil outside With
	events  *events.Bus
	runtime jobs.Runtime
	waiters *waiters
}

// New makes a service. Bind comes before anything else.
func New(pool *pgxpool.Pool, cfg Config) *Service {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	return &Service{pool: pool, waiters: newWaiters(cfg.Listener)}
}

// Bind gives the service the bus whose events its jobs are about, and the runtime that has the jobs.
func (s *Service) Bind(bus *events.Bus, runtime jobs.Runtime) { s.events, s.runtime = bus, runtime }

// Periodics are the service's: workers that were not seen for a day are forgotten.
func (s *Service) Periodics() []jobs.Periodic {
	return []jobs.Periodic{{Name: "work.workers", Every: time.Hour, Run: func(ctx context.Context) error {
		if err := worksql.New(s.pool).PruneWorkers(ctx); err != nil {
			return fmt.Errorf("forget workers: %w", err)
		}
		return nil
	}}}
}

// Start begins to hear of new work. Stop ends it; claims that wait are answered then.
func (s *Service) Start(ctx context.Context) { s.waiters.start(ctx) }

// Stop is Start's end. Never started and twice are fine.
func (s *Service) Stop() { s.waiters.stop() }

// With answers a service whose declarations and Enqueue are part of tx.
func (s *Service) With(tx pgx.Tx) *Service {
	within := *s
	within.tx = tx
	return &within
}

func (s *Service) queries() *worksql.Queries {
	if s.tx != nil {
		return worksql.New(s.tx)
	}
	return worksql.New(s.pool)
}

// refusal puts what the SQL functions refuse into Go's words: their texts name the thing and the limit. Their hints are for SQL.
func refusal(err error) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return err
	}
	text := refused.Message
	if function, rest, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(function, "postbus.") {
		text = rest
	}
	switch refused.Code {
	case "22023", "22P05", "22P02":
		return fmt.Errorf("%w: %s", jobs.ErrInvalid, text)
	case "42501":
		return fmt.Errorf("%w: %s", events.ErrForeignName, text)
	}
	return err
}
