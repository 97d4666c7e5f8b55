package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/panel"
	"github.com/postbus/postbus/pg"
)

// busMayTake bounds the end of the bus: its grace for running jobs, and a little. With requestsMayTake it is within 20 s.
const busMayTake = jobsMayTake + 4*time.Second

// daemon is a bus with its HTTP server.
type daemon struct {
	cfg settings
	log *slog.Logger
	out io.Writer
	// banner says on out that it is ready; token is the first one, or "". Defaults to the token only.
	banner func(ctx context.Context, registry *ops.Registry, url, token string) error

	pool *pgxpool.Pool
	web  *web
	live *panel.Live // of the bus that runs
}

// run serves until ctx ends.
func (d *daemon) run(ctx context.Context) (err error) {
	if d.pool, err = newPool(d.cfg.databaseURL); err != nil {
		return err
	}
	defer d.pool.Close()
	if _, _, err := compose(d.pool, d.cfg, slog.New(slog.DiscardHandler)); err != nil { // a mistake is told before anything waits
		return err
	}
	traces, err := newTraces(ctx, d.cfg)
	if err != nil {
		return err
	}
	defer stopTraces(traces, d.log)
	if traces != nil {
		d.cfg.tracer = traces
	}
	push, err := pushing(ctx, d.cfg)
	if err != nil {
		return err
	}
	shown, err := newMetrics(d.log, push...)
	if err != nil {
		return err
	}
	defer shown.stop()
	d.cfg.meter = shown.provider
	state := &health{pool: d.pool, why: "starting"}
	d.web = &web{health: state, metrics: shown.handler, log: d.log}
	if err := d.web.serve(d.cfg.listen); err != nil {
		return err
	}
	defer d.web.stop()
	d.log.InfoContext(ctx, "listening", "address", d.web.addr, "version", version())
	bus, err := d.boot(ctx, state)
	if err != nil || bus == nil {
		return err
	}
	state.set("")
	<-ctx.Done()
	return d.drain(bus, state)
}

// boot starts a bus, again and again while the database is away. It answers nil where ctx ended first.
func (d *daemon) boot(ctx context.Context, state *health) (*postbus.Bus, error) {
	backoff := loop.Backoff{Base: 250 * time.Millisecond, Max: 5 * time.Second}
	for {
		bus, err := d.start(ctx)
		if err == nil || ctx.Err() != nil {
			return bus, nil
		}
		if !mayPass(err) {
			return nil, err
		}
		state.set("the database does not answer: " + innermost(err))
		d.log.WarnContext(ctx, "the database does not answer; trying again", "error", innermost(err))
		if loop.Sleep(ctx, backoff.Next()) != nil {
			return nil, nil
		}
	}
}

// mayPass says that a start may succeed later: the database is away, or is still being set up.
func mayPass(err error) bool {
	var told *pgconn.PgError
	if errors.As(err, &told) && (told.Code == "3D000" || told.Code[:2] == "28") {
		return true
	}
	return pg.IsUnavailable(err)
}

// start makes one attempt.
func (d *daemon) start(ctx context.Context) (*postbus.Bus, error) {
	bus, registry, err := compose(d.pool, d.cfg, d.log)
	if err != nil {
		return nil, err
	}
	if d.cfg.skipMigrate {
		if err := migrated(ctx, d.pool); err != nil {
			return nil, err
		}
	}
	if err := bus.Start(ctx); err != nil {
		return nil, err
	}
	if err := d.open(ctx, bus, registry); err != nil {
		return nil, errors.Join(err, stop(bus))
	}
	return bus, nil
}

// open makes the first token where there is none, and the faces.
func (d *daemon) open(ctx context.Context, bus *postbus.Bus, registry *ops.Registry) error {
	token, err := ops.Bootstrap(ctx, d.pool)
	if err != nil {
		return err
	}
	tokens := ops.NewAuthenticator(d.pool, d.log)
	live := panel.NewLive(panel.LiveConfig{
		Pool: d.pool, Inspector: bus.Inspector(), Listener: bus.Listener(), Alerts: bus.Alerts, Log: d.log,
	})
	tasks, err := panel.New(panel.Config{
		Registry: registry, Auth: panel.NewSessions(d.pool, tokens, d.log), Live: live, Version: version(), Log: d.log,
	})
	if err != nil {
		return err
	}
	if err := d.web.open(registry, tokens, tasks); err != nil {
		return err
	}
	live.Start(context.WithoutCancel(ctx))
	d.live = live
	switch {
	case d.banner != nil:
		err = d.banner(ctx, registry, "http://"+d.web.addr, token)
	case token != "":
		_, err = fmt.Fprintf(d.out, "The first token, for everything. It is not shown again:\n\n  %s\n\n", token)
	}
	return err
}

// drain ends requests, then jobs.
func (d *daemon) drain(bus *postbus.Bus, state *health) error {
	began := time.Now()
	state.set("shutting down")
	d.log.Info("shutting down")
	d.live.Stop() // its streams would hold the server
	d.web.stop()
	switch err := stop(bus); {
	case pg.IsUnavailable(err): // nothing is left to do here; another process, or the next, clears up after this one
		d.log.Warn("the database does not answer at the end", "error", innermost(err))
	case err != nil:
		return err
	}
	d.log.Info("ended", "took", time.Since(began).Round(time.Millisecond))
	return nil
}

func stop(bus *postbus.Bus) error {
	ctx, cancel := context.WithTimeout(context.Background(), busMayTake)
	defer cancel()
	return bus.Stop(ctx)
}
