package river

import (
	"context"
	"crypto/sha256"
	_ "embed" // for the extras
	"encoding/hex"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/pg"
)

//go:embed extras.sql
var extras string

//go:embed leases.sql
var leaseFunctions string

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
	return makeFunctions(ctx, pool)
}

// makeFunctions makes the functions anew where their text has changed; the setting has the hash of the one that made them.
func makeFunctions(ctx context.Context, pool *pgxpool.Pool) error {
	sum := sha256.Sum256([]byte(leaseFunctions))
	version := riversql.NoteFunctionsParams{Version: hex.EncodeToString(sum[:8])}
	return pg.InTx(ctx, pool, func(ctx context.Context, tx pgx.Tx) error {
		changed, err := riversql.New(tx).NoteFunctions(ctx, version)
		if err != nil || changed == 0 {
			return err
		}
		if _, err := tx.Exec(ctx, leaseFunctions); err != nil {
			return fmt.Errorf("make the functions of leases: %w", err)
		}
		return nil
	})
}
