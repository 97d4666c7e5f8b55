package pg

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Status compares a database with the migrations of this version.
type Status struct {
	Applied []Applied   // known to this version, in order
	Pending []Migration // what Migrate would apply, in order
	Unknown []Applied   // applied by a newer version, in order
}

// Applied is a migration that a database has.
type Applied struct {
	Version   int64
	Name      string
	AppliedAt time.Time
}

// ReadStatus returns the state of a database's migrations. An empty database has all of them
// pending.
func ReadStatus(ctx context.Context, db DBTX) (Status, error) {
	applied, err := readApplied(ctx, db)
	if err != nil {
		return Status{}, fmt.Errorf("read postbus.migrations: %w", err)
	}
	var status Status
	known := map[int64]bool{}
	for _, migration := range Migrations() {
		known[migration.Version] = true
		if done, ok := applied[migration.Version]; ok {
			status.Applied = append(status.Applied, done)
		} else {
			status.Pending = append(status.Pending, migration)
		}
	}
	for _, version := range slices.Sorted(maps.Keys(applied)) {
		if !known[version] {
			status.Unknown = append(status.Unknown, applied[version])
		}
	}
	return status, nil
}

func readApplied(ctx context.Context, db DBTX) (map[int64]Applied, error) {
	var exists bool
	err := db.QueryRow(ctx, "select to_regclass('postbus.migrations') is not null").Scan(&exists)
	if err != nil || !exists {
		return nil, err
	}
	rows, err := db.Query(ctx, "select version, name, applied_at from postbus.migrations")
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Applied])
	if err != nil {
		return nil, err
	}
	applied := make(map[int64]Applied, len(list))
	for _, one := range list {
		applied[one.Version] = one
	}
	return applied, nil
}
