package events

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/pg"
)

// installCaptures brings the database to the declarations. What is there already is left alone and takes no lock on the
// table; a changed declaration replaces its triggers; what somebody altered in the database is reported and put right.
func (b *Bus) installCaptures(ctx context.Context) error {
	for _, c := range b.cfg.Captures {
		if err := b.installCapture(ctx, c); err != nil {
			return fmt.Errorf("capture %q on table %q: %w", c.Name, c.Table, err)
		}
	}
	return b.reportStrays(ctx)
}

func (b *Bus) installCapture(ctx context.Context, c Capture) error {
	return pg.InTx(ctx, b.pool, func(ctx context.Context, tx pgx.Tx) error {
		if err := b.captureAllowed(ctx, tx, c); err != nil {
			return err
		}
		key, err := queries(tx).PrimaryKey(ctx, eventsql.PrimaryKeyParams{TableName: c.table()})
		if err != nil {
			return fmt.Errorf("read its primary key: %w", err)
		}
		want := c.build(b.cfg.App, key)
		now, err := c.installed(ctx, tx)
		if err != nil {
			return err
		}
		switch {
		case now.matches(want):
			return nil
		case now.note == want.note:
			b.cfg.Log.WarnContext(ctx, "capture drifted: the database was altered since it was installed; putting it right",
				"capture", c.Name, "table", c.Table)
		case now.note != "" && !strings.HasPrefix(now.note, b.cfg.App+" "):
			return foreign("capture", c.Name, strings.Fields(now.note)[0])
		}
		return c.install(ctx, tx, want, now)
	})
}

func (b *Bus) captureAllowed(ctx context.Context, tx pgx.Tx, c Capture) error {
	exists, err := queries(tx).TableExists(ctx, eventsql.TableExistsParams{TableName: c.table()})
	if err != nil {
		return err
	}
	if !exists {
		return fmt.Errorf("%w: the table does not exist: create it before the bus starts", ErrInvalid)
	}
	_, err = queries(tx).TypeOwner(ctx, eventsql.TypeOwnerParams{Name: c.Type})
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("%w: %q", ErrUndeclaredType, c.Type)
	}
	return err
}

// installedCapture is a capture as it stands in the database.
type installedCapture struct {
	function, note string
	triggers       []eventsql.CaptureTriggersRow
}

func (c Capture) installed(ctx context.Context, tx pgx.Tx) (installedCapture, error) {
	var now installedCapture
	fn, err := queries(tx).CaptureFunction(ctx, eventsql.CaptureFunctionParams{FunctionName: c.function()})
	if errors.Is(err, pgx.ErrNoRows) {
		return now, nil
	}
	if err != nil {
		return now, fmt.Errorf("read what is installed: %w", err)
	}
	now.function, now.note = fn.Prosrc, fn.Note
	now.triggers, err = queries(tx).CaptureTriggers(ctx, eventsql.CaptureTriggersParams{
		TableName: c.table(), FunctionName: c.function(),
	})
	if err != nil {
		return now, fmt.Errorf("read its triggers: %w", err)
	}
	return now, nil
}

func (now installedCapture) matches(want captureSQL) bool {
	if now.note != want.note || now.function != want.function || len(now.triggers) != len(want.triggers) {
		return false
	}
	for _, t := range now.triggers {
		if _, wanted := want.triggers[t.Name]; !wanted || !t.Enabled {
			return false
		}
	}
	return true
}

// install replaces function and triggers in one transaction, so that no write in between goes uncaptured. It waits at most
// 5 s for the table, lest a long transaction on it stop every other writer behind the boot.
func (c Capture) install(ctx context.Context, tx pgx.Tx, want captureSQL, now installedCapture) error {
	fn := pgx.Identifier{"postbus", c.function()}.Sanitize()
	statements := []string{
		"set local lock_timeout = '5s'",
		"set local standard_conforming_strings = on",
		"create or replace function " + fn + "() returns trigger language plpgsql" +
			" set search_path = pg_catalog, pg_temp as " + literal(want.function),
		"comment on function " + fn + "() is " + literal(want.note),
	}
	for _, t := range now.triggers {
		statements = append(statements, "drop trigger "+pgx.Identifier{t.Name}.Sanitize()+" on "+c.table())
	}
	for _, name := range slices.Sorted(maps.Keys(want.triggers)) {
		statements = append(statements, want.triggers[name])
	}
	for _, sql := range statements {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("install: %w", err)
		}
	}
	return nil
}

// reportStrays names captures that this application installed and no longer declares. They are left: another version of it
// may still need them. Dropping the function with cascade ends one.
func (b *Bus) reportStrays(ctx context.Context) error {
	fns, err := queries(b.pool).CaptureFunctions(ctx)
	if err != nil {
		return fmt.Errorf("read installed captures: %w", err)
	}
	for _, fn := range fns {
		declared := slices.ContainsFunc(b.cfg.Captures, func(c Capture) bool { return c.function() == fn.Name })
		if !declared && strings.HasPrefix(fn.Note, b.cfg.App+" ") {
			b.cfg.Log.WarnContext(ctx, "a capture is installed that this version does not declare; drop its function to end it",
				"drop", "drop function postbus."+fn.Name+"() cascade")
		}
	}
	return nil
}
