package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/rig"
	"github.com/postbus/postbus/pg"
)

// bulk measures one statement that records 100,000 events, and its commit, while no relay is on duty: the trigger that
// wakes the relay must do its work once, not once a row.
func bulk() group {
	names := []string{"record_100k", "record_100k_commit", "record_100k_ratio"}
	return group{name: "record_100k", figures: names, measure: func(ctx context.Context, b *bench, db *rig.Database) ([]figure.Figure, error) {
		if _, err := recorderOf(ctx, db); err != nil {
			return nil, err
		}
		var commits, plainCommits []float64
		rates, err := b.rounds(ctx, "record_100k", b.plan.repeats, []side{
			{"plain", func(ctx context.Context) (float64, error) {
				return b.oneStatement(ctx, db, plainManySQL, &plainCommits)
			}},
			{"event", func(ctx context.Context) (float64, error) { return b.oneStatement(ctx, db, recordManySQL, &commits) }},
		})
		if err != nil {
			return nil, err
		}
		return []figure.Figure{
			figure.Of(figure.Measured{Name: names[0], Unit: "s", Values: rates["event"]}),
			figure.Of(figure.Measured{
				Name: names[1], Unit: "ms", Values: commits, Sides: map[string][]float64{"event": commits, "plain": plainCommits},
			}),
			figure.Of(figure.Measured{
				Name: names[2], Unit: "ratio", Values: ratios(rates["event"], rates["plain"]), Sides: rates,
				Note: "seconds of the statement / seconds of a plain insert of the same rows",
			}),
		}, nil
	}}
}

// oneStatement answers the seconds that the statement took; the milliseconds of its commit are added to commits.
func (b *bench) oneStatement(ctx context.Context, db *rig.Database, sql string, commits *[]float64) (seconds float64, err error) {
	if err := db.Clean(ctx); err != nil {
		return 0, err
	}
	var stated time.Time
	err = pg.InTx(ctx, db.Pool, func(ctx context.Context, tx pgx.Tx) error {
		began := time.Now()
		_, err := tx.Exec(ctx, sql, b.plan.bulkRows, eventType, body)
		stated = time.Now()
		seconds = stated.Sub(began).Seconds()
		return err
	})
	*commits = append(*commits, milliseconds(time.Since(stated)))
	return seconds, err
}
