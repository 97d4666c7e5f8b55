package river

import (
	"context"
	_ "embed" // for the extras
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

//go:embed extras.sql
var extras string

// Migrator makes and upgrades the queue's tables in schema postbus: River's own migrations, then what this adapter adds to
// them. It does nothing where all is done. pg.Migrate calls it under its lock.
func Migrator() *Migrations { return &Migrations{} }

// Migrations is the pg.Migrator of this adapter.
type Migrations struct{}

// Migrate brings the tables up to date.
func (*Migrations) Migrate(ctx context.Context, pool *pgxpool.Pool) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: schema, Logger: quietLogger(slog.Default())})
	if err != nil {
		return fmt.Errorf("prepare River's migrations: %w", err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("run River's migrations: %w", err)
	}
	if _, err := pool.Exec(ctx, extras); err != nil {
		return fmt.Errorf("add to River's tables: %w", err)
	}
	return nil
}
