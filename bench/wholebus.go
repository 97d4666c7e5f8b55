package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/rig"
	"github.com/postbus/postbus/events"
)

// wholeBus measures what a writer pays for everything on the same machine: relay, queue and one subscriber that does
// nothing. River direct does the same work without an outbox: the writer inserts the job itself.
func wholeBus(writers int) group {
	bus, direct := named("writer_tax_bus", writers), named("river_direct", writers)
	busBehind, directBehind := named("writer_tax_bus_behind", writers), named("river_direct_behind", writers)
	return group{
		name: bus, figures: []string{bus, direct, busBehind, directBehind},
		measure: func(ctx context.Context, b *bench, db *rig.Database) ([]figure.Figure, error) {
			w := &whole{bench: b, db: db, writers: writers}
			if err := w.prepare(ctx); err != nil {
				return nil, err
			}
			rates, err := b.rounds(ctx, bus, b.plan.pairs, []side{{"plain", w.plain}, {"bus", w.bus}, {"river", w.river}})
			if err != nil {
				return nil, err
			}
			enough := b.plan.judgesRatios()
			river := ratios(rates["river"], rates["plain"])
			return []figure.Figure{
				figure.Of(figure.Measured{
					Name: bus, Unit: "ratio", Values: ratios(rates["bus"], rates["plain"]), Sides: rates, Enough: enough,
					Target: figure.Above(figure.Median(river)), Note: "the target is river_direct of the same run; the aim is 0.80",
				}),
				figure.Of(figure.Measured{Name: direct, Unit: "ratio", Values: river}),
				figure.Of(figure.Measured{
					Name: busBehind, Unit: "s", Values: w.busBehind,
					Note: fmt.Sprintf("to finish what was left at the end of a window of %s", b.plan.window.Count),
				}),
				figure.Of(figure.Measured{Name: directBehind, Unit: "s", Values: w.riverBehind}),
			}, nil
		},
	}
}

type whole struct {
	*bench
	db          *rig.Database
	writers     int
	writer      *pgxpool.Pool // of the writers
	consumer    *pgxpool.Pool // of the bus, or of River
	recorder    events.Recorder
	busBehind   []float64
	riverBehind []float64
}

func (w *whole) prepare(ctx context.Context) (err error) {
	if w.recorder, err = recorderOf(ctx, w.db); err != nil {
		return err
	}
	if w.writer, err = w.db.NewPool(ctx, w.writers); err != nil {
		return err
	}
	if w.consumer, err = w.db.NewPool(ctx, busConns); err != nil {
		return err
	}
	return migrateRiver(ctx, w.db.Pool)
}

func (w *whole) plain(ctx context.Context) (float64, error) {
	return w.write(ctx, w.db, w.writers, inTx(w.writer, plainly))
}

func (w *whole) bus(ctx context.Context) (rate float64, err error) {
	if err := w.db.Clean(ctx); err != nil {
		return 0, err
	}
	bus, err := startBus(ctx, w.consumer, noop(subscriber))
	if err != nil {
		return 0, err
	}
	defer stopping(ctx, bus.Stop, &err)
	wrote, err := rig.Writers(ctx, w.writers, w.plan.window, inTx(w.writer, recording(w.recorder)))
	if err != nil {
		return 0, err
	}
	behind, err := w.catchUp(ctx, busBehindSQL, subscriber)
	w.busBehind = append(w.busBehind, behind)
	return wrote.PerSecond, err
}

func (w *whole) river(ctx context.Context) (rate float64, err error) {
	if err := w.db.Clean(ctx); err != nil {
		return 0, err
	}
	client, err := riverWorking(w.consumer)
	if err != nil {
		return 0, err
	}
	if err := client.Start(ctx); err != nil {
		return 0, err
	}
	defer stopping(ctx, client.Stop, &err)
	wrote, err := rig.Writers(ctx, w.writers, w.plan.window, inTx(w.writer, insertingJob(client)))
	if err != nil {
		return 0, err
	}
	behind, err := w.catchUp(ctx, riverBehindSQL, riverArgs{}.Kind())
	w.riverBehind = append(w.riverBehind, behind)
	return wrote.PerSecond, err
}

// catchUp waits until nothing is left to do and answers how long that took. The last jobs are recorded as done up to
// a quarter of a second late, so that much behind is nothing.
func (w *whole) catchUp(ctx context.Context, behindSQL, kind string) (seconds float64, err error) {
	began := time.Now()
	done, err := rig.Until(ctx, w.plan.drained, 10*time.Millisecond, func(ctx context.Context) (bool, error) {
		var behind bool
		err := w.db.Pool.QueryRow(ctx, behindSQL, kind).Scan(&behind)
		return !behind, err
	})
	if err == nil && !done {
		err = fmt.Errorf("jobs of kind %s were not done %s after the window's end", kind, w.plan.drained)
	}
	return time.Since(began).Seconds(), err
}

// stopping stops what was started and adds what went wrong to err.
func stopping(ctx context.Context, stop func(context.Context) error, err *error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if stopErr := stop(ctx); stopErr != nil && *err == nil {
		*err = fmt.Errorf("stop: %w", stopErr)
	}
}
