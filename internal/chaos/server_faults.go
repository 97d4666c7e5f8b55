package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// serverKinds hit Postgres itself, and so everybody.
func serverKinds() []kind {
	return []kind{
		{name: "crash", lane: serverLane, least: second / 2, most: 6 * second, begin: crash},
		{name: "terminate", lane: serverLane, least: second, most: 6 * second, begin: terminate},
		{name: "read only", lane: serverLane, least: second, most: 8 * second,
			begin: settings("default_transaction_read_only = on", "default_transaction_read_only")},
		{name: "no temporary files", lane: serverLane, least: second, most: 6 * second,
			begin: settings("temp_file_limit = '8kB'", "temp_file_limit", "work_mem = '64kB'", "work_mem")},
		{name: "no connections", lane: serverLane, least: second, most: 6 * second, begin: hog},
		{name: "old snapshot", lane: serverLane, least: 2 * second, most: 15 * second, begin: oldSnapshot},
		{name: "timeouts", lane: serverLane, least: second, most: 6 * second, begin: timeouts},
		{name: "retention and vacuum", lane: serverLane, least: second, most: 6 * second, begin: retention},
	}
}

// crash stops Postgres at once and starts it again at the end.
func crash(_ context.Context, w *world, _ *Fault) (func(context.Context) error, error) {
	if err := w.server.HaltImmediate(); err != nil {
		return nil, err
	}
	return w.server.StartAgain, nil
}

const terminateSQL = `select count(pg_terminate_backend(pid)) from (
	select pid from pg_stat_activity where usename in ('bus', 'labeller') order by random() limit $1) as chosen`

func terminate(ctx context.Context, w *world, f *Fault) (func(context.Context) error, error) {
	most := 1 + f.Chance%4
	return repeated(ctx, 150*time.Millisecond, func(ctx context.Context) { _ = w.run(ctx, terminateSQL, most) }), nil
}

// settings changes settings of the server, given as pairs of what is set and its name.
func settings(pairs ...string) func(context.Context, *world, *Fault) (func(context.Context) error, error) {
	return func(ctx context.Context, w *world, _ *Fault) (func(context.Context) error, error) {
		for i := 0; i < len(pairs); i += 2 {
			if err := w.run(ctx, "alter system set "+pairs[i]); err != nil {
				return nil, err
			}
		}
		end := func(ctx context.Context) error {
			for i := 1; i < len(pairs); i += 2 {
				if err := w.run(ctx, "alter system reset "+pairs[i]); err != nil {
					return err
				}
			}
			return w.run(ctx, "select pg_reload_conf()")
		}
		return end, w.run(ctx, "select pg_reload_conf()")
	}
}

// hog takes every connection that there is, those of the buses, too.
func hog(ctx context.Context, w *world, _ *Fault) (func(context.Context) error, error) {
	var held []*pgx.Conn
	stop := repeated(ctx, 20*time.Millisecond, func(ctx context.Context) {
		conn, err := pgx.Connect(ctx, w.url("hog"))
		if err != nil {
			_ = w.run(ctx, terminateSQL, 3)
			return
		}
		held = append(held, conn)
	})
	return func(ctx context.Context) error {
		_ = stop(ctx)
		for _, conn := range held {
			_ = conn.Close(ctx)
		}
		held = nil
		return nil
	}, nil
}

// oldSnapshot keeps vacuum from removing anything.
func oldSnapshot(ctx context.Context, w *world, _ *Fault) (func(context.Context) error, error) {
	conn, err := pgx.Connect(ctx, w.server.DatabaseURL(database))
	if err != nil {
		return nil, err
	}
	end := func(ctx context.Context) error { _ = conn.Close(ctx); return nil }
	for _, sql := range []string{"begin isolation level repeatable read", "select count(*) from postbus.events"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return nil, fmt.Errorf("%s: %w", sql, err)
		}
	}
	return end, nil
}

// timeouts gives every session of the buses timeouts that are too short, and something to wait for.
func timeouts(ctx context.Context, w *world, f *Fault) (func(context.Context) error, error) {
	for name, ms := range map[string]uint64{"statement_timeout": 20 + f.Chance%100, "lock_timeout": 10 + f.Chance%20} {
		if err := w.run(ctx, fmt.Sprintf("alter role bus set %s = '%dms'", name, ms)); err != nil {
			return nil, err
		}
	}
	_ = w.run(ctx, terminateSQL, 1000)
	tables := []string{"postbus.events", "postbus.river_job", "postbus.webhook_deliveries", "postbus.instances", "app.handled"}
	turn := f.Chance
	stop := repeated(ctx, 150*time.Millisecond, func(ctx context.Context) {
		turn++
		_ = w.lock(ctx, tables[turn%uint64(len(tables))])
	})
	return func(ctx context.Context) error {
		_ = stop(ctx)
		if err := w.run(ctx, "alter role bus reset all"); err != nil {
			return err
		}
		return w.run(ctx, terminateSQL, 1000)
	}, nil
}

// retention removes what is done with, again and again, while everything is vacuumed.
func retention(ctx context.Context, w *world, _ *Fault) (func(context.Context) error, error) {
	return repeated(ctx, 400*time.Millisecond, func(ctx context.Context) {
		for _, name := range []string{"events.retention", "webhooks.retention"} {
			_, _ = w.bus.Inspector().RunPeriodic(ctx, app, name)
		}
		for _, table := range []string{"postbus.events", "postbus.river_job", "postbus.webhook_deliveries", "postbus.webhook_slots"} {
			_ = w.run(ctx, "vacuum (analyze) "+table)
		}
	}), nil
}
