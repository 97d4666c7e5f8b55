package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/examples/notebook/building"
	"github.com/postbus/postbus/examples/notebook/indexing"
	"github.com/postbus/postbus/examples/notebook/mailbox"
	"github.com/postbus/postbus/examples/notebook/mailing"
	"github.com/postbus/postbus/examples/notebook/note"
	"github.com/postbus/postbus/examples/notebook/publishing"
	"github.com/postbus/postbus/examples/notebook/search"
	"github.com/postbus/postbus/internal/devpg"
	"github.com/postbus/postbus/jobs"
)

const (
	// owner owns every note: the notebook has no accounts.
	owner = "me"
	// conns is the size of the pool where the address does not say another.
	conns = 16
	// connectWithin is how long a database may take to answer at the start.
	connectWithin = 10 * time.Second
	// stopBusWithin bounds the end of the bus: its own grace for running jobs, and a little.
	stopBusWithin = 25 * time.Second
)

// app is everything that runs in one notebook process.
type app struct {
	opts      demoOptions
	log       *slog.Logger
	lock      *dataLock
	private   *devpg.Server // nil with --database-url
	pool      *pgxpool.Pool
	notes     *note.Store
	search    *search.Client
	bus       *postbus.Bus
	out       io.Writer
	files     publishing.Files
	key       string
	box       *mailbox.Box
	publisher *publishing.Publisher
	ours      bool // whether this process looks after the receiver
	reconcile jobs.JobID
	ends      []func()
}

// openApp brings everything up, from the database to the bus. Close it, also after an error.
func openApp(ctx context.Context, o demoOptions, out io.Writer, log *slog.Logger) (*app, error) {
	a := &app{opts: o, out: out, log: log}
	for _, step := range []func(context.Context) error{a.openDatabase, a.openSearch, a.openKey, a.openMailbox, a.makeBus, a.openReceiver, a.startBus, a.openBuilder} {
		if err := step(ctx); err != nil {
			a.close()
			return nil, err
		}
	}
	return a, nil
}

// close ends everything in the opposite order.
func (a *app) close() {
	for _, end := range slices.Backward(a.ends) {
		end()
	}
	a.ends = nil
}

func (a *app) onClose(end func()) { a.ends = append(a.ends, end) }

func (a *app) openDatabase(ctx context.Context) error {
	if a.opts.databaseURL == "" || a.opts.searchURL == "" {
		var err error
		if a.lock, err = lockData(a.opts.data); err != nil {
			return err
		}
		a.onClose(a.lock.release)
	}
	url := a.opts.databaseURL
	if url == "" {
		server, err := devpg.Start(ctx, devpg.Durable(filepath.Join(a.opts.data, "postgres")))
		if err != nil {
			return fmt.Errorf("start the private Postgres: %w", err)
		}
		a.onClose(func() { _ = server.Stop() })
		a.private, url = server, server.URL()
	}
	if err := a.connect(ctx, url); err != nil {
		return err
	}
	a.notes = note.NewStore(a.pool)
	return a.notes.Migrate(ctx)
}

func (a *app) connect(ctx context.Context, url string) error {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return usageError{fmt.Errorf("--database-url: %w", err)}
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = conns
	}
	if a.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	a.onClose(a.pool.Close)
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	if err := a.pool.Ping(ctx); err != nil {
		return fmt.Errorf("the database does not answer: %w", err)
	}
	return nil
}

// openSearch runs the search service here, unless there is one already.
func (a *app) openSearch(ctx context.Context) (err error) {
	if a.opts.searchURL != "" {
		a.search, err = search.NewClient(a.opts.searchURL)
		return err
	}
	ln, err := listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	url := "http://" + ln.Addr().String()
	index, err := a.openIndex(ctx, url)
	if err != nil {
		_ = ln.Close()
		return err
	}
	s := serve(ln, search.Handler(index), a.log)
	a.onClose(func() {
		s.stop()
		_ = index.Close()
	})
	a.search, err = search.NewClient(url)
	return err
}

func (a *app) openIndex(ctx context.Context, url string) (*search.Index, error) {
	owned, other, release, err := a.notes.OwnSearch(ctx, url)
	if err != nil {
		return nil, err
	}
	if !owned {
		return nil, fmt.Errorf("another notebook process runs the search service of this database: share it with --search-url %s", other)
	}
	a.onClose(release)
	id, err := a.notes.Identity(ctx)
	if err != nil {
		return nil, err
	}
	return search.Open(filepath.Join(a.opts.data, "index", id), a.log)
}

// openMailbox runs the server that takes the demo's mails.
func (a *app) openMailbox(context.Context) (err error) {
	a.box, err = mailbox.Open(filepath.Join(a.opts.data, "mailbox"), func(line string) { fmt.Fprintln(a.out, line) }, a.log)
	if err != nil {
		return fmt.Errorf("open the mailbox: %w", err)
	}
	a.onClose(a.box.Close)
	return nil
}

// makeBus declares everything. Nothing runs yet, so that the endpoint is there before the first event is looked at.
func (a *app) makeBus(ctx context.Context) (err error) {
	config := (&indexing.Indexer{Notes: a.notes, Search: a.search}).Config(a.log)
	publishing.Declare(&config, a.key)
	building.Declare(&config, a.notes)
	mailing.Declare(&config, a.box.Host, a.box.Port)
	if a.bus, err = postbus.New(a.pool, config); err != nil {
		return err
	}
	a.publisher = &publishing.Publisher{Pool: a.pool, Notes: a.notes, Bus: a.bus, Owner: owner}
	return a.bus.Migrate(ctx)
}

// startBus starts the bus and has it index what the search service lacks, and deliver what the receiver lacks.
func (a *app) startBus(ctx context.Context) (err error) {
	if err := a.bus.Start(ctx); err != nil {
		return err
	}
	a.onClose(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopBusWithin)
		defer cancel()
		if err := a.bus.Stop(ctx); err != nil {
			a.log.Error("stop the bus", "error", err)
		}
	})
	if a.ours {
		if err := a.publisher.CatchUp(ctx); err != nil {
			return err
		}
	}
	a.reconcile, err = a.bus.Jobs().Enqueue(ctx, indexing.Reconcile, struct{}{}, jobs.EnqueueOpts{})
	return err
}

// joinFlags are what another process is started with to share this one's work.
func (a *app) joinFlags() string {
	database := "--database-url URL" // the caller's own: it may hold a password
	if a.private != nil {
		database = "--database-url '" + a.private.URL() + "'"
	}
	return database + " --search-url " + a.search.URL() + " --data '" + a.opts.data + "'"
}
