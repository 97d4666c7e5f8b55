package rig

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Database is one figure's own.
type Database struct {
	Name string
	// Pool is for the measuring itself; what is measured gets pools of its own.
	Pool  *pgxpool.Pool
	url   string
	pools []*pgxpool.Pool
}

// NewPool answers a pool of at most conns connections, all open, that is closed with the database.
func (d *Database) NewPool(ctx context.Context, conns int) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(d.url)
	if err != nil {
		return nil, fmt.Errorf("rig: %w", err)
	}
	cfg.MaxConns, cfg.MinConns = int32(conns), int32(conns)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("rig: %w", err)
	}
	d.pools = append(d.pools, pool)
	return pool, nil
}

// Quiet closes the pools that NewPool gave, and every connection of Pool: only then the server's counters have all of what they did.
func (d *Database) Quiet() {
	for _, pool := range d.pools {
		if pool == d.Pool {
			pool.Reset()
			continue
		}
		pool.Close()
	}
}

func (d *Database) close() {
	for _, pool := range d.pools {
		pool.Close()
	}
}

// Clean empties every table that the sides of a pair write and takes a checkpoint, so that each window starts alike.
func (d *Database) Clean(ctx context.Context) error {
	tables, err := d.writtenTables(ctx)
	if err != nil {
		return err
	}
	for _, sql := range []string{"truncate " + tables + " restart identity", "checkpoint"} {
		if _, err := d.Pool.Exec(ctx, sql); err != nil {
			return fmt.Errorf("rig: %s: %w", sql, err)
		}
	}
	return nil
}

func (d *Database) writtenTables(ctx context.Context) (list string, err error) {
	return list, d.Pool.QueryRow(ctx, writtenTablesSQL).Scan(&list)
}

// Vacuum removes dead rows and refreshes the planner's statistics of the tables.
func (d *Database) Vacuum(ctx context.Context, tables ...string) error {
	for _, table := range tables {
		if _, err := d.Pool.Exec(ctx, "vacuum analyze "+table); err != nil {
			return fmt.Errorf("rig: vacuum %s: %w", table, err)
		}
	}
	return nil
}

// Hold opens a session of its own, runs sql in it and keeps it until release: a session's lock, or a transaction left open.
func (d *Database) Hold(ctx context.Context, sql ...string) (release func(), err error) {
	conn, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return nil, fmt.Errorf("rig: %w", err)
	}
	release = func() { _ = conn.Close(context.WithoutCancel(ctx)) }
	for _, s := range sql {
		if _, err := conn.Exec(ctx, s); err != nil {
			release()
			return nil, fmt.Errorf("rig: %s: %w", s, err)
		}
	}
	return release, nil
}
