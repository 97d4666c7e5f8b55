package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// byHand stands for an application in the note of a capture that no application declares. No application can have this name.
const byHand = "(by-hand)"

// InstalledCapture is a capture in the database.
type InstalledCapture struct {
	Name string `json:"name"`
	// Table is where its triggers are, "" where somebody dropped them.
	Table string `json:"table"`
	// On are its triggers.
	On []Op `json:"on"`
	// App declares it, "" for one that InstallCapture installed.
	App string `json:"app,omitempty"`
	// Enabled is false where one of its triggers is switched off, or is gone.
	Enabled bool `json:"enabled"`
	// Declared is what it was installed from.
	Declared Capture `json:"declared"`
}

// CaptureChange is what InstallCapture or RemoveCapture did or, in a dry run, would do.
type CaptureChange struct {
	// Capture has its defaults filled in.
	Capture Capture `json:"capture"`
	// Did is "installed", "replaced", "removed" or "unchanged".
	Did string `json:"did"`
	// SQL are the statements, for one transaction; none where nothing changes.
	SQL []string `json:"sql"`
}

// errDry rolls a dry run back.
var errDry = errors.New("dry run")

// InstallCapture installs a capture that belongs to no application: it stays whatever boots, until RemoveCapture. Installing
// it again changes nothing, and a changed one replaces the one of its name. It is DDL: the pool's role must own the table.
//
// Name defaults to the table's, Owner to the column owner_id, Subject to the primary key, its columns joined by "/".
func InstallCapture(ctx context.Context, pool *pgxpool.Pool, c Capture, dryRun bool) (CaptureChange, error) {
	out := CaptureChange{Did: "unchanged"}
	err := pg.InTx(ctx, pool, func(ctx context.Context, tx pgx.Tx) error {
		var err error
		if c, err = c.byDefault(ctx, tx); err != nil {
			return err
		}
		site, err := c.site(ctx, tx)
		if err != nil {
			return err
		}
		if err := c.stays(ctx, tx); err != nil {
			return err
		}
		took, err := c.bring(ctx, tx, byHand, site)
		if err != nil {
			return err
		}
		switch {
		case took.installed:
			out.Did = "installed"
		case took.replaced:
			out.Did = "replaced"
		}
		out.Capture, out.SQL = c, took.statements
		return unlessDry(dryRun)
	})
	if err != nil && !errors.Is(err, errDry) {
		return CaptureChange{}, fmt.Errorf("capture on table %q: %w", c.Table, err)
	}
	return out, nil
}

// stays refuses to take a capture away from another table, which a name made of the table's might do unseen.
func (c Capture) stays(ctx context.Context, tx pgx.Tx) error {
	now, err := c.installed(ctx, tx)
	if err != nil {
		return err
	}
	for _, t := range now.triggers {
		if !t.InPlace {
			return fmt.Errorf("%w: capture %q is on table %s: choose another name, or remove that one", ErrForeignName, c.Name, t.TableName)
		}
	}
	return nil
}

func unlessDry(dryRun bool) error {
	if dryRun {
		return errDry
	}
	return nil
}

// RemoveCapture takes away a capture that InstallCapture installed. ErrNotFound says that there is none of this name, and
// ErrForeignName that an application declares it.
func RemoveCapture(ctx context.Context, pool *pgxpool.Pool, name string, dryRun bool) (CaptureChange, error) {
	c := Capture{Name: name}
	if err := jobs.CheckName("capture", name); err != nil {
		return CaptureChange{}, err
	}
	out := CaptureChange{Did: "removed", SQL: []string{dropCapture(c.function())}}
	err := pg.InTx(ctx, pool, func(ctx context.Context, tx pgx.Tx) error {
		now, err := c.installed(ctx, tx)
		switch {
		case err != nil:
			return err
		case now.function == "":
			return fmt.Errorf("%w: no capture %q is installed", ErrNotFound, name)
		case now.note.app != byHand:
			return fmt.Errorf("%w: capture %q is declared by %s: take it out of its declarations there, then run in SQL: %s",
				ErrForeignName, name, now.note.app, dropCapture(c.function()))
		}
		out.Capture = now.note.declared
		if _, err := tx.Exec(ctx, "set local lock_timeout = '5s'"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, out.SQL[0]); err != nil {
			return err
		}
		return unlessDry(dryRun)
	})
	if err != nil && !errors.Is(err, errDry) {
		return CaptureChange{}, fmt.Errorf("remove a capture: %w", err)
	}
	return out, nil
}

// Captures answers what captures are in the database, by name, of all applications and of none.
func Captures(ctx context.Context, db pg.DBTX) ([]InstalledCapture, error) {
	rows, err := queries(db).InstalledCaptures(ctx)
	if err != nil {
		return nil, fmt.Errorf("read installed captures: %w", err)
	}
	out := make([]InstalledCapture, len(rows))
	for i, r := range rows {
		note := readNote(r.Note)
		c := InstalledCapture{
			Name: note.declared.Name, Table: r.TableName, App: note.app, Enabled: r.Enabled, Declared: note.declared, On: []Op{},
		}
		if c.Name == "" { // installed by an older version, or altered
			c.Name = strings.TrimPrefix(r.FunctionName, "capture_")
		}
		if c.App == byHand {
			c.App = ""
		}
		for op, on := range map[Op]bool{Insert: r.OnInsert, Update: r.OnUpdate, Delete: r.OnDelete} {
			if on {
				c.On = append(c.On, op)
			}
		}
		slices.SortFunc(c.On, func(a, b Op) int { return slices.Index(allOps(), a) - slices.Index(allOps(), b) })
		out[i] = c
	}
	return out, nil
}
