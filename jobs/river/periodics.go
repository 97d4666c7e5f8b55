package river

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

func (i *inspector) Periodics(ctx context.Context) ([]jobs.PeriodicStatus, error) {
	rows, err := i.queries().ListPeriodics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list periodics: %w", err)
	}
	var list []jobs.PeriodicStatus
	for _, row := range rows {
		status := jobs.PeriodicStatus{
			App: row.App, Name: row.Name, Schedule: row.Schedule, Paused: row.Paused,
			LastResult: row.Result, LastError: row.Error, LastJob: jobs.JobID(row.JobID),
		}
		if slot := row.LastSlot.UTC(); !slot.IsZero() {
			status.LastSlot = &slot
		}
		if row.BeganAt != nil {
			began := row.BeganAt.UTC()
			status.LastRunAt = &began
		}
		// A schedule that another version of Postbus wrote may not be ours to read: it is shown without its next tick.
		if s, err := parseSchedule(row.Schedule); err == nil && !row.Paused {
			next := s.next(row.Now)
			status.Next = &next
		}
		list = append(list, status)
	}
	return list, nil
}

func (i *inspector) RunPeriodic(ctx context.Context, app, name string) (jobs.JobID, error) {
	if checkText("periodic", app+name) != nil {
		return "", notFound(app, name)
	}
	var id jobs.JobID
	err := pg.Nested(ctx, i.db(), func(ctx context.Context, tx pgx.Tx) error {
		slot, err := riversql.New(tx).ClaimByHand(ctx, riversql.ClaimByHandParams{App: app, Name: name})
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound(app, name)
		}
		if err != nil {
			return err
		}
		id, err = enqueueTick(ctx, tx, i.enqueuer, tick{App: app, Name: name, Slot: slot})
		return err
	})
	if err != nil {
		return "", fmt.Errorf("run periodic %s of %s: %w", name, app, err)
	}
	return id, nil
}

func notFound(app, name string) error {
	return fmt.Errorf("periodic %q of application %q: %w", name, app, jobs.ErrNotFound)
}

func (i *inspector) PausePeriodic(ctx context.Context, app, name string) error {
	return i.markPeriodic(app, name, func() (int64, error) {
		return i.queries().PausePeriodic(ctx, riversql.PausePeriodicParams{App: app, Name: name})
	})
}

func (i *inspector) ResumePeriodic(ctx context.Context, app, name string) error {
	return i.markPeriodic(app, name, func() (int64, error) {
		return i.queries().ResumePeriodic(ctx, riversql.ResumePeriodicParams{App: app, Name: name})
	})
}

func (i *inspector) markPeriodic(app, name string, write func() (int64, error)) error {
	if checkText("periodic", app+name) != nil {
		return notFound(app, name)
	}
	n, err := write()
	if err != nil {
		return fmt.Errorf("periodic %s of %s: %w", name, app, err)
	}
	if n == 0 {
		return notFound(app, name)
	}
	return nil
}
