package river

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

const (
	clockEvery = time.Second
	pruneEvery = time.Hour
)

// clock enqueues the application's periodics when they tick. Every instance has one; the row of a tick decides which of
// them enqueues it. What was missed while all were down runs once, for its latest tick.
type clock struct {
	pool      *pgxpool.Pool
	periodics *periodics
	enqueuer  *enqueuer
	ticker    loop.Ticker
	pruned    time.Time
}

func newClock(pool *pgxpool.Pool, periodics *periodics, enqueuer *enqueuer, log *slog.Logger) *clock {
	c := &clock{pool: pool, periodics: periodics, enqueuer: enqueuer}
	c.ticker = loop.Ticker{
		Name: "clock", Interval: clockEvery, Once: c.once, Log: log, BackoffBase: clockEvery, BackoffMax: 30 * time.Second,
	}
	return c
}

// declare mirrors what is declared, so that every process can list it.
func (c *clock) declare(ctx context.Context) error {
	for _, p := range c.periodics.list {
		err := c.periodics.queries.DeclarePeriodic(ctx, riversql.DeclarePeriodicParams{
			App: c.periodics.app, Name: p.Name, Schedule: p.text,
		})
		if err != nil {
			return fmt.Errorf("declare periodic %s: %w", p.Name, err)
		}
	}
	return nil
}

func (c *clock) once(ctx context.Context) error {
	if len(c.periodics.list) == 0 {
		return nil
	}
	byName := map[string]periodic{}
	names := make([]string, 0, len(c.periodics.list))
	for _, p := range c.periodics.list {
		byName[p.Name] = p
		names = append(names, p.Name)
	}
	clocks, err := c.periodics.queries.PeriodicClocks(ctx, riversql.PeriodicClocksParams{App: c.periodics.app, Names: names})
	if err != nil {
		return fmt.Errorf("look at the clock: %w", err)
	}
	var failed error
	for _, row := range clocks {
		p := byName[row.Name]
		if slot := p.schedule.latest(row.Now); slot.After(row.Done) {
			failed = errors.Join(failed, c.enqueue(ctx, p, slot))
		}
	}
	return errors.Join(failed, c.keep(ctx, names))
}

// enqueue makes the tick's job, where nobody else has.
func (c *clock) enqueue(ctx context.Context, p periodic, slot time.Time) error {
	err := pg.InShortTx(ctx, c.pool, func(ctx context.Context, tx pgx.Tx) error {
		queries := riversql.New(tx)
		won, err := queries.ClaimSlot(ctx, riversql.ClaimSlotParams{App: c.periodics.app, Name: p.Name, Slot: slot})
		if err != nil || won == 0 {
			return err
		}
		_, err = enqueueTick(ctx, tx, c.enqueuer, tick{App: c.periodics.app, Name: p.Name, Slot: slot})
		return err
	})
	if err != nil {
		return fmt.Errorf("enqueue periodic %s: %w", p.Name, err)
	}
	return nil
}

// enqueueTick makes a tick's job and notes its id in the tick's row.
func enqueueTick(ctx context.Context, tx pgx.Tx, enqueuer *enqueuer, t tick) (jobs.JobID, error) {
	id, err := enqueuer.With(tx).Enqueue(ctx, periodicKind(t.App, t.Name), t, jobs.EnqueueOpts{
		Queue: jobs.MaintenanceQueue, MaxAttempts: periodicAttempts,
	})
	if err != nil {
		return "", err
	}
	return id, riversql.New(tx).NamePeriodicJob(ctx, riversql.NamePeriodicJobParams{
		JobID: string(id), App: t.App, Name: t.Name, Slot: t.Slot,
	})
}

// keep says that the periodics are still declared, and prunes their history.
func (c *clock) keep(ctx context.Context, names []string) error {
	err := c.periodics.queries.TouchPeriodics(ctx, riversql.TouchPeriodicsParams{App: c.periodics.app, Names: names})
	if err != nil {
		return fmt.Errorf("keep the periodics: %w", err)
	}
	if time.Since(c.pruned) < pruneEvery {
		return nil
	}
	c.pruned = time.Now()
	if err := c.periodics.queries.PrunePeriodicRuns(ctx); err != nil {
		return fmt.Errorf("prune the history of periodics: %w", err)
	}
	return nil
}
