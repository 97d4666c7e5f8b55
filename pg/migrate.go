package pg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/loop"
)

// migrateKey is the advisory lock under which a database is migrated.
const migrateKey int64 = 5287002951004851

// Migrator brings the tables of a job runtime up to date. It is idempotent.
type Migrator interface {
	Migrate(ctx context.Context, pool *pgxpool.Pool) error
}

// Migrate applies the migrations that the database lacks, in order and each in a transaction,
// then calls the runtimes' migrators. One process migrates at a time; another one waits, as long
// as ctx allows, and then finds everything done. A database that a newer version has migrated is
// left as it is, with a warning. The pool must allow two connections: one holds the lock.
func Migrate(ctx context.Context, pool *pgxpool.Pool, runtime ...Migrator) error {
	if most := pool.Config().MaxConns; most < 2 {
		return fmt.Errorf("pg: migrate: the pool allows %d connection; migrating needs 2: raise pool_max_conns", most)
	}
	var about server
	err := InTx(ctx, pool, func(ctx context.Context, lock pgx.Tx) error {
		var err error
		if about, err = inspect(ctx, lock); err != nil {
			return err
		}
		if err := about.check(); err != nil {
			return err
		}
		if err := takeMigrateLock(ctx, lock); err != nil {
			return err
		}
		if err := migrateOwn(ctx, pool); err != nil {
			return err
		}
		for _, migrator := range runtime {
			if err := migrator.Migrate(ctx, pool); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("pg: migrate: %w", about.explain(err))
	}
	return nil
}

// takeMigrateLock waits for the lock. It belongs to the transaction, not the session: behind a
// pooler a session's lock would stay behind with a connection that is not ours. It asks again and
// again instead of waiting in the database, where a waiting statement holds back vacuum.
func takeMigrateLock(ctx context.Context, lock pgx.Tx) error {
	if _, err := lock.Exec(ctx, "set local idle_in_transaction_session_timeout = 0"); err != nil {
		return err
	}
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		var taken bool
		if err := lock.QueryRow(ctx, "select pg_try_advisory_xact_lock($1)", migrateKey).Scan(&taken); err != nil {
			return err
		}
		if taken {
			return nil
		}
		if err := loop.Sleep(ctx, loop.Jitter(pause)); err != nil {
			return fmt.Errorf("another process is migrating and did not finish: %w", err)
		}
	}
}

// migrateOwn applies what is missing of our own migrations.
func migrateOwn(ctx context.Context, pool *pgxpool.Pool) error {
	status, err := ReadStatus(ctx, pool)
	if err != nil {
		return err
	}
	if n := len(status.Unknown); n > 0 {
		slog.Default().WarnContext(ctx, "the database was migrated by a newer version of Postbus; it is left as it is",
			"newest", status.Unknown[n-1].Name, "version", status.Unknown[n-1].Version)
	}
	if err := ensureRecord(ctx, pool); err != nil {
		return err
	}
	for _, migration := range status.Pending {
		if err := apply(ctx, pool, migration); err != nil {
			return fmt.Errorf("%03d_%s: %w", migration.Version, migration.Name, err)
		}
	}
	return nil
}

// ensureRecord makes the schema and the table of applied migrations where they are missing.
func ensureRecord(ctx context.Context, pool *pgxpool.Pool) error {
	return InTx(ctx, pool, func(ctx context.Context, tx pgx.Tx) error {
		var schema, record bool
		err := tx.QueryRow(ctx, "select to_regnamespace('postbus') is not null, to_regclass('postbus.migrations') is not null").
			Scan(&schema, &record)
		if err != nil || record {
			return err
		}
		if !schema {
			if err := execScript(ctx, tx, Migrations()[0].Up); err != nil {
				return err
			}
		}
		return execScript(ctx, tx, createRecord)
	})
}

func apply(ctx context.Context, pool *pgxpool.Pool, migration Migration) error {
	return InTx(ctx, pool, func(ctx context.Context, tx pgx.Tx) error {
		// A limit meant for the application's queries must not end the making of an index.
		if _, err := tx.Exec(ctx, "set local statement_timeout = 0"); err != nil {
			return err
		}
		if migration.Version > 0 { // 0 made the schema already
			if err := execScript(ctx, tx, migration.Up); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "insert into postbus.migrations (version, name) values ($1, $2)",
			migration.Version, migration.Name)
		return err
	})
}

// execScript runs several statements, which only the simple protocol takes.
func execScript(ctx context.Context, tx pgx.Tx, sql string) error {
	_, err := tx.Conn().PgConn().Exec(ctx, sql).ReadAll()
	return err
}

// isMissingRight says that the database refused for lack of a right.
func isMissingRight(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == "42501"
}
