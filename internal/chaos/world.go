package chaos

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/devpg"
	"github.com/postbus/postbus/internal/faultproxy"
	"github.com/postbus/postbus/pg"
	"github.com/postbus/postbus/webhooks"
)

const (
	database  = "chaos"
	workerLog = "worker.log"
)

var (
	//go:embed schema.sql
	schemaSQL string
	//go:embed retired.sql
	retiredSQL string
)

// world is everything that runs: a Postgres of its own, the processes, and the ways between them.
type world struct {
	cfg         Config
	binary      string // of the processes
	clockBinary string // the same with a clock that can be off; "" where there is none

	server       *devpg.Server
	admin        *pgxpool.Pool // past all proxies, and as one for whom connections are kept
	pool         *pgxpool.Pool // of the harness's own bus, past all proxies
	bus          *postbus.Bus  // declares and asks, and never runs
	writersProxy *faultproxy.Proxy
	sinkProxy    *faultproxy.Proxy
	sink         *sink
	writers      *writers
	buses        []*process
	worker       *process

	closers []func() error
}

// build makes the world; nothing runs in it yet.
func build(ctx context.Context, cfg Config) (w *world, err error) {
	w = &world{cfg: cfg}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	for _, step := range []func(context.Context) error{w.compile, w.startServer, w.makeDatabase, w.openSink, w.makeProcesses} {
		if err := step(ctx); err != nil {
			return w, fmt.Errorf("chaos: %w", err)
		}
	}
	return w, nil
}

func (w *world) later(f func() error) { w.closers = append(w.closers, f) }

func (w *world) close() (err error) {
	for i := len(w.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, w.closers[i]())
	}
	return err
}

// startServer starts a Postgres that keeps what it has committed when it crashes: the machine does not.
func (w *world) startServer(ctx context.Context) (err error) {
	w.server, err = devpg.Start(ctx, devpg.Config{Log: w.cfg.Log, Settings: map[string]string{
		"fsync": "off", "full_page_writes": "off", "synchronous_commit": "on", "shared_buffers": "128MB", "max_wal_size": "2GB",
		"max_connections": "80", "superuser_reserved_connections": "8", "autovacuum_naptime": "5s",
	}})
	if err != nil {
		return err
	}
	w.later(w.server.Stop)
	return nil
}

func (w *world) makeDatabase(ctx context.Context) error {
	for _, sql := range []string{
		"create role bus login createrole", "create role labeller login", "create role hog login",
		"create database " + database + " owner bus",
	} {
		if err := execOn(ctx, w.server.URL(), sql); err != nil {
			return err
		}
	}
	var err error
	if w.admin, err = openPool(ctx, w.server.DatabaseURL(database), 4, true); err != nil {
		return err
	}
	w.later(func() error { w.admin.Close(); return nil })
	if w.pool, err = openPool(ctx, w.url("bus"), 6, true); err != nil {
		return err
	}
	w.later(func() error { w.pool.Close(); return nil })
	if _, err := w.pool.Exec(ctx, schemaSQL); err != nil {
		return fmt.Errorf("schema.sql: %w", err)
	}
	none := func(string) func(context.Context, events.Event) error {
		return func(context.Context, events.Event) error { return errors.New("the harness handles nothing") }
	}
	if w.bus, err = postbus.New(w.pool, busConfig(w.cfg.Log, none)); err != nil {
		return err
	}
	if err := w.bus.Migrate(ctx); err != nil {
		return err
	}
	if _, err := w.pool.Exec(ctx, retiredSQL); err != nil {
		return fmt.Errorf("retired.sql: %w", err)
	}
	return w.run(ctx, `select postbus.declare_subscription('labels', array['order.*'], 1000, '5 seconds', array['300 milliseconds']::interval[]);
		grant postbus_worker to labeller; grant usage on schema app to labeller; grant insert on app.labels to labeller`)
}

// openSink starts the receiver and makes its two endpoints, of which one is ordered.
func (w *world) openSink(ctx context.Context) (err error) {
	if w.sink, err = newSink(w.cfg.Seed); err != nil {
		return err
	}
	w.later(func() error { w.sink.close(); return nil })
	if w.sinkProxy, err = faultproxy.OpenPlain(w.sink.addr); err != nil {
		return err
	}
	w.later(func() error { w.sinkProxy.Close(); return nil })
	for name, ordered := range map[string]bool{"any": false, "ordered": true} {
		made, err := w.bus.Webhooks().Create(ctx, webhooks.EndpointSpec{
			OwnerID: owner, URL: "http://" + w.sinkProxy.Addr() + "/" + name, Types: []string{"order.*"}, MaxInFlight: 4, Ordered: ordered,
			Description: name,
		})
		if err != nil {
			return err
		}
		if err := w.sink.trust(name, made.Secret); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) makeProcesses(ctx context.Context) error {
	for i := range w.cfg.Buses {
		p, err := w.process(childSpec{Role: busRole, Name: fmt.Sprintf("bus-%d", i)}, "bus", 12)
		if err != nil {
			return err
		}
		w.buses = append(w.buses, p)
	}
	var err error
	if w.worker, err = w.process(childSpec{Role: workerRole, Name: "worker", Log: w.path(workerLog)}, "labeller", 1); err != nil {
		return err
	}
	if w.writersProxy, err = faultproxy.Open(w.server.Addr()); err != nil {
		return err
	}
	w.later(func() error { w.writersProxy.Close(); return nil })
	pool, err := openPool(ctx, through(w.url("bus"), w.writersProxy), writerCount, false)
	if err != nil {
		return err
	}
	w.later(func() error { pool.Close(); return nil })
	w.writers = &writers{pool: pool, rec: w.bus.Recorder(), rate: w.cfg.Rate}
	return nil
}

func (w *world) process(spec childSpec, role string, conns int) (*process, error) {
	proxy, err := faultproxy.Open(w.server.Addr())
	if err != nil {
		return nil, err
	}
	w.later(func() error { proxy.Close(); return nil })
	out, err := os.Create(w.path(spec.Name + ".out"))
	if err != nil {
		return nil, err
	}
	w.later(out.Close)
	spec.URL = through(w.url(role), proxy)
	if conns > 1 {
		spec.URL += fmt.Sprintf("&pool_max_conns=%d", conns)
	}
	p := &process{spec: spec, binary: w.binary, proxy: proxy, out: out}
	w.later(func() error { p.kill(); return nil })
	return p, nil
}

func (w *world) path(name string) string { return filepath.Join(w.cfg.Dir, name) }

// url is the address of the database for a role, past all proxies.
func (w *world) url(role string) string {
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable&connect_timeout=5", role, w.server.Addr(), database)
}

// through leads an address through a proxy.
func through(address string, p *faultproxy.Proxy) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return address // it is one of ours
	}
	parsed.Host = p.Addr()
	return parsed.String()
}

// openPool opens a pool; a safe one is not held up by what the server is set to.
func openPool(ctx context.Context, address string, conns int32, safe bool) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = conns
	if safe {
		cfg.ConnConfig.RuntimeParams["default_transaction_read_only"] = "off"
		cfg.ConnConfig.RuntimeParams["work_mem"] = "4MB"
		cfg.ConnConfig.RuntimeParams["lock_timeout"] = "0"
		cfg.ConnConfig.RuntimeParams["statement_timeout"] = "0"
	}
	return pgxpool.NewWithConfig(ctx, cfg)
}

func execOn(ctx context.Context, address, sql string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

// run runs one statement, or several, as superuser. Where its connection was broken by a fault it takes another.
func (w *world) run(ctx context.Context, sql string, args ...any) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for range 3 {
		if _, err = w.admin.Exec(ctx, sql, args...); err == nil || !pg.IsUnavailable(err) {
			return err
		}
	}
	return err
}

// lock holds a table for a moment, so that everybody waits for it.
func (w *world) lock(ctx context.Context, table string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return pgx.BeginFunc(ctx, w.admin, func(tx pgx.Tx) error {
		for _, sql := range []string{"set local lock_timeout = '500ms'", "lock table " + table + " in access exclusive mode", "select pg_sleep(0.08)"} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
}
