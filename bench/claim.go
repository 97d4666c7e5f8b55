package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/rig"
)

// claim measures what workers in any language do: claim one job, complete it, each in a transaction of its own; and what finished
// jobs in the table cost them.
func claim(workers int) group {
	rate, finished := named("claim_rate", workers), named("claim_finished", workers)
	return group{name: named("claim", workers), figures: []string{rate, finished}, measure: func(ctx context.Context, b *bench, db *rig.Database) ([]figure.Figure, error) {
		full, err := b.server.Database(ctx, named("bench_claim_full", workers))
		if err != nil {
			return nil, err
		}
		defer func() { _ = b.server.Drop(context.WithoutCancel(ctx), full) }()
		few, err := newClaims(ctx, db, workers, 0)
		if err != nil {
			return nil, err
		}
		many, err := newClaims(ctx, full, workers, b.plan.finished)
		if err != nil {
			return nil, err
		}
		rates, err := b.rounds(ctx, named("claim", workers), b.plan.pairs, []side{
			{"none", func(ctx context.Context) (float64, error) { return few.rate(ctx, b.plan) }},
			{"finished", func(ctx context.Context) (float64, error) { return many.rate(ctx, b.plan) }},
		})
		if err != nil {
			return nil, err
		}
		return []figure.Figure{
			figure.Of(figure.Measured{Name: rate, Unit: "jobs/s", Values: rates["none"], Note: "claim_work of one job, complete_work; no finished rows"}),
			figure.Of(figure.Measured{
				Name: finished, Unit: "ratio", Target: figure.AtMost(1.2), Values: ratios(rates["none"], rates["finished"]), Sides: rates,
				Enough: b.plan.judgesRatios(), Note: fmt.Sprintf("time a job beside %d finished rows / without them", b.plan.finished),
			}),
		}, nil
	}}
}

// claims is a database with jobs to claim beside finished ones.
type claims struct {
	db      *rig.Database
	pool    *pgxpool.Pool
	workers int
}

func newClaims(ctx context.Context, db *rig.Database, workers, finished int) (*claims, error) {
	if _, err := recorderOf(ctx, db); err != nil {
		return nil, err
	}
	if _, err := db.Pool.Exec(ctx, declareClaimedSQL); err != nil {
		return nil, err
	}
	if _, err := db.Pool.Exec(ctx, finishedSQL, finished); err != nil {
		return nil, fmt.Errorf("fill with finished jobs: %w", err)
	}
	pool, err := db.NewPool(ctx, workers)
	return &claims{db: db, pool: pool, workers: workers}, err
}

var errNothingToClaim = errors.New("nothing was left to claim: the backlog is too small")

// rate makes a backlog anew and answers the jobs a second that the workers claim and complete of it.
func (c *claims) rate(ctx context.Context, p plan) (float64, error) {
	if _, err := c.db.Pool.Exec(ctx, clearClaimableSQL); err != nil {
		return 0, err
	}
	if _, err := c.db.Pool.Exec(ctx, claimableSQL, p.claimable); err != nil {
		return 0, err
	}
	if err := c.db.Vacuum(ctx, "postbus.river_job"); err != nil {
		return 0, err
	}
	if _, err := c.db.Pool.Exec(ctx, "checkpoint"); err != nil {
		return 0, err
	}
	w, err := rig.Writers(ctx, c.workers, p.window, func(ctx context.Context, worker, _ int) error {
		var lease *string
		if err := c.pool.QueryRow(ctx, claimOneSQL, named("worker", worker)).Scan(&lease); err != nil {
			return err
		}
		if lease == nil {
			return errNothingToClaim
		}
		_, err := c.pool.Exec(ctx, completeOneSQL, *lease)
		return err
	})
	return w.PerSecond, err
}
