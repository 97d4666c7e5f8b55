package note

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/examples/notebook/note/notesql"
	"github.com/postbus/postbus/pg"
)

//go:embed migrations/001_notes.up.sql
var migration1 string

//go:embed migrations/002_publications.up.sql
var migration2 string

//go:embed migrations/003_site.up.sql
var migration3 string

// Migrate brings the tables up to date. Many may call it at once.
func (s *Store) Migrate(ctx context.Context) error {
	err := pg.InTx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		q := notesql.New(tx)
		if err := q.LockMigration(ctx); err != nil {
			return err
		}
		done, err := q.Migrated(ctx)
		if err != nil {
			return err
		}
		for _, sql := range []string{migration1, migration2, migration3}[done:] {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("bring the tables of %s up to date: %w", Table, err)
	}
	return nil
}
