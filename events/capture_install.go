package events

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/pg"
)

// installCaptures brings the database to the declarations. What is there already is left alone and takes no lock on the
// table; a changed declaration replaces its triggers; what somebody altered in the database is reported and put right.
func (b *Bus) installCaptures(ctx context.Context) error {
	for _, c := range b.cfg.Captures {
		err := pg.InTx(ctx, b.pool, func(ctx context.Context, tx pgx.Tx) error {
			site, err := c.site(ctx, tx)
			if err != nil {
				return err
			}
			change, err := c.bring(ctx, tx, b.cfg.App, site)
			if err == nil && change.drifted {
				b.cfg.Log.WarnContext(ctx, "capture drifted: the database was altered since it was installed; putting it right",
					"capture", c.Name, "table", c.Table)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("capture %q on table %q: %w", c.Name, c.Table, err)
		}
	}
	return b.reportStrays(ctx)
}

// reportStrays names captures that this application installed and no longer declares. They are left: another version of it
// may still need them. Dropping the function with cascade ends one.
func (b *Bus) reportStrays(ctx context.Context) error {
	all, err := queries(b.pool).InstalledCaptures(ctx)
	if err != nil {
		return fmt.Errorf("read installed captures: %w", err)
	}
	for _, fn := range all {
		declared := slices.ContainsFunc(b.cfg.Captures, func(c Capture) bool { return c.function() == fn.FunctionName })
		if !declared && readNote(fn.Note).app == b.cfg.App {
			b.cfg.Log.WarnContext(ctx, "a capture is installed that this version does not declare; drop its function to end it",
				"drop", dropCapture(fn.FunctionName))
		}
	}
	return nil
}

func dropCapture(function string) string {
	return "drop function " + pgx.Identifier{"postbus", function}.Sanitize() + "() cascade"
}

// installedCapture is a capture as it stands in the database.
type installedCapture struct {
	function string
	note     captureNote
	triggers []eventsql.CaptureTriggersRow
}

func (now installedCapture) matches(want captureSQL) bool {
	if !now.note.same(want.note) || now.function != want.function || len(now.triggers) != len(want.triggers) {
		return false
	}
	for _, t := range now.triggers {
		if _, wanted := want.triggers[t.Name]; !wanted || !t.Enabled || !t.InPlace {
			return false
		}
	}
	return true
}
