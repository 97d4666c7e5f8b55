package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
)

// captureSite is what a capture's table is like.
type captureSite struct{ columns, key []string }

// site looks at the table, and refuses a capture whose table, columns or types are not there.
func (c Capture) site(ctx context.Context, tx pgx.Tx) (s captureSite, err error) {
	exists, err := queries(tx).TableExists(ctx, eventsql.TableExistsParams{TableName: c.table()})
	if err != nil {
		return s, fmt.Errorf("look for its table: %w", err)
	}
	if !exists {
		return s, fmt.Errorf("%w: the table does not exist: create it first", ErrInvalid)
	}
	if s.columns, err = queries(tx).TableColumns(ctx, eventsql.TableColumnsParams{TableName: c.table()}); err != nil {
		return s, fmt.Errorf("read its columns: %w", err)
	}
	for _, column := range c.Watch {
		if !slices.Contains(s.columns, column) {
			return s, fmt.Errorf("%w: the column %q does not exist: the table has %s", ErrInvalid, column, strings.Join(s.columns, ", "))
		}
	}
	for _, name := range c.typeNames() {
		_, err = queries(tx).TypeOwner(ctx, eventsql.TypeOwnerParams{Name: name})
		if errors.Is(err, pgx.ErrNoRows) {
			return s, fmt.Errorf("%w: %q", ErrUndeclaredType, name)
		}
		if err != nil {
			return s, fmt.Errorf("look for event type %q: %w", name, err)
		}
	}
	if s.key, err = queries(tx).PrimaryKey(ctx, eventsql.PrimaryKeyParams{TableName: c.table()}); err != nil {
		return s, fmt.Errorf("read its primary key: %w", err)
	}
	return s, nil
}

// change is what bringing a capture to a database took.
type change struct {
	statements          []string // none where it was there already
	installed, replaced bool
	drifted             bool // somebody altered it in the database
}

// bring puts a capture into the database for an application, in the place of an older one of the application's. Function and
// triggers change in one transaction, so that no write in between goes uncaptured.
func (c Capture) bring(ctx context.Context, tx pgx.Tx, app string, site captureSite) (change, error) {
	want := c.build(app, site.key)
	now, err := c.installed(ctx, tx)
	if err != nil {
		return change{}, err
	}
	if now.matches(want) {
		return change{}, nil
	}
	if now.note.hash != "" && now.note.app != app {
		return change{}, foreignCapture(c.Name, now.note.app)
	}
	out := change{
		statements: want.statements(c, now.triggers), installed: now.note.hash == "", replaced: now.note.hash != "",
		drifted: now.note.same(want.note),
	}
	return out, c.install(ctx, tx, out.statements, site)
}

func foreignCapture(name, app string) error {
	if app == byHand {
		return fmt.Errorf("%w: capture %q was installed from the command line: choose another name, or run postbus capture remove %s",
			ErrForeignName, name, name)
	}
	return foreign("capture", name, app)
}

func (c Capture) installed(ctx context.Context, tx pgx.Tx) (now installedCapture, err error) {
	fn, err := queries(tx).CaptureFunction(ctx, eventsql.CaptureFunctionParams{FunctionName: c.function()})
	if errors.Is(err, pgx.ErrNoRows) {
		return now, nil
	}
	if err != nil {
		return now, fmt.Errorf("read what is installed: %w", err)
	}
	now.function, now.note = fn.Prosrc, readNote(fn.Note)
	now.triggers, err = queries(tx).CaptureTriggers(ctx, eventsql.CaptureTriggersParams{
		TableName: c.table(), FunctionName: c.function(),
	})
	if err != nil {
		return now, fmt.Errorf("read its triggers: %w", err)
	}
	return now, nil
}

// install waits at most 5 s for the table, lest a long transaction on it stop every other writer behind the boot.
func (c Capture) install(ctx context.Context, tx pgx.Tx, statements []string, site captureSite) error {
	set := []string{"set local lock_timeout = '5s'", "set local standard_conforming_strings = on", "set local check_function_bodies = on"}
	for _, sql := range set {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("install: %w", err)
		}
	}
	if err := c.try(ctx, tx, site); err != nil {
		return err
	}
	for _, sql := range statements {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("install: %w", err)
		}
	}
	return nil
}

// try has the database check each expression, as a trigger function's body is not checked before a write runs it. It makes a
// function with the trigger's variables as parameters, and drops it.
func (c Capture) try(ctx context.Context, tx pgx.Tx, site captureSite) error {
	name := pgx.Identifier{"postbus", c.function() + "_trial"}.Sanitize()
	row := c.table()
	for _, part := range []struct{ what, expression, as string }{
		{"Owner", c.Owner, "text"}, {"Subject", c.Subject, "text"}, {"Data", c.data(site.key), "json"},
	} {
		body := fmt.Sprintf("select (%s)::%s", part.expression, part.as)
		_, err := tx.Exec(ctx, fmt.Sprintf("create function %s(new %s, old %s, it %s,"+
			" tg_op text, tg_name name, tg_when text, tg_level text, tg_relid oid, tg_relname name, tg_table_name name,"+
			" tg_table_schema name, tg_nargs integer, tg_argv text[]) returns %s language sql"+
			" set search_path = pg_catalog, pg_temp as %s", name, row, row, row, part.as, literal(body)))
		var refused *pgconn.PgError
		if errors.As(err, &refused) && strings.HasPrefix(refused.Code, "42") && refused.Code != "42501" {
			return fmt.Errorf("%w: the expression of %s, %s: %s; the rows it, new and old have %s",
				ErrInvalid, part.what, part.expression, refused.Message, strings.Join(site.columns, ", "))
		}
		if err != nil {
			return fmt.Errorf("check the expression of %s: %w", part.what, err)
		}
		if _, err := tx.Exec(ctx, "drop function "+name); err != nil {
			return fmt.Errorf("check the expression of %s: %w", part.what, err)
		}
	}
	return nil
}
