package instance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/dbsqlc/instancesql"
	"github.com/postbus/postbus/internal/loop"
)

// Config describes one process.
type Config struct {
	// ID names the instance; unique among all that live. Defaults to the host's name and 64 random bits.
	ID string

	// App is the application. Required.
	App string

	// Version is the application's, for people to read. Optional.
	Version string

	// Kinds are the kinds of jobs that the process serves. Optional.
	Kinds []string

	// Every is the time between beats. Defaults to 2 s.
	Every time.Duration

	// DeadAfter is the silence after which others take the instance for dead. Defaults to 8 s.
	DeadAfter time.Duration

	// Log defaults to slog.Default().
	Log *slog.Logger
}

const (
	defaultEvery     = 2 * time.Second
	defaultDeadAfter = 8 * time.Second
	forgetEvery      = time.Hour
	maxHostBytes     = 40
)

// Instance is one process's row and the loop that keeps it fresh.
type Instance struct {
	cfg     Config
	host    string
	queries *instancesql.Queries
	ticker  loop.Ticker

	mu        sync.Mutex
	first     time.Time // of the beats that came through without a gap; zero after a failure
	last      time.Time
	forgotten time.Time
}

// New makes an instance that is not started.
func New(pool *pgxpool.Pool, cfg Config) *Instance {
	if cfg.Every <= 0 {
		cfg.Every = defaultEvery
	}
	if cfg.DeadAfter <= 0 {
		cfg.DeadAfter = defaultDeadAfter
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Kinds == nil {
		cfg.Kinds = []string{}
	}
	host, _ := os.Hostname() // the name is for people: an empty one will do
	if cfg.ID == "" {
		cfg.ID = newID(host)
	}
	i := &Instance{cfg: cfg, host: host, queries: instancesql.New(pool)}
	i.ticker = loop.Ticker{
		Name: "heartbeat", Interval: cfg.Every, Once: i.beat, Log: cfg.Log,
		BackoffBase: cfg.Every / 4, BackoffMax: cfg.Every,
	}
	return i
}

var notInID = regexp.MustCompile(`[^a-zA-Z0-9_.-]`)

func newID(host string) string {
	host = notInID.ReplaceAllString(host, "-")
	if len(host) > maxHostBytes {
		host = host[:maxHostBytes]
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	return host + "-" + hex.EncodeToString(random[:])
}

// ID is the name under which the process holds jobs.
func (i *Instance) ID() string { return i.cfg.ID }

// DeadAfter is the silence after which others take the instance for dead.
func (i *Instance) DeadAfter() time.Duration { return i.cfg.DeadAfter }

// Start writes the row and keeps it fresh until Stop; the end of ctx does not end it. A second Start does nothing.
func (i *Instance) Start(ctx context.Context) error {
	if err := i.write(ctx); err != nil {
		return fmt.Errorf("register instance %s: %w", i.cfg.ID, err)
	}
	i.ticker.Start(context.WithoutCancel(ctx))
	return nil
}

// Stop ends the beats and removes the row. Never started and twice are fine.
func (i *Instance) Stop(ctx context.Context) error {
	i.ticker.Stop()
	i.mu.Lock()
	beating := !i.last.IsZero()
	i.first, i.last = time.Time{}, time.Time{}
	i.mu.Unlock()
	if !beating {
		return nil
	}
	if err := i.queries.Leave(ctx, instancesql.LeaveParams{ID: i.cfg.ID}); err != nil {
		return fmt.Errorf("remove instance %s: %w", i.cfg.ID, err)
	}
	return nil
}

// Steady is for how long the beats have come through without a gap as long as DeadAfter; 0 while they do not.
func (i *Instance) Steady() time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.first.IsZero() || time.Since(i.last) >= i.cfg.DeadAfter {
		return 0
	}
	return time.Since(i.first)
}

// beat does not wait for longer than others do.
func (i *Instance) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, i.cfg.DeadAfter)
	defer cancel()
	return i.write(ctx)
}

func (i *Instance) write(ctx context.Context) error {
	began := time.Now()
	silentUs, err := i.queries.Beat(ctx, instancesql.BeatParams{
		ID: i.cfg.ID, App: i.cfg.App, Version: i.cfg.Version, Host: i.host, Kinds: i.cfg.Kinds,
	})
	if i.note(began, time.Duration(silentUs)*time.Microsecond, err) {
		return i.queries.ForgetInstances(ctx)
	}
	return err
}

// note keeps count of the beats and reports whether it is time to forget the dead. silent is the gap by the database's
// clock: a process that was frozen together with its clock learns of it here.
func (i *Instance) note(began time.Time, silent time.Duration, err error) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err != nil {
		i.first = time.Time{}
		return false
	}
	if i.first.IsZero() || silent >= i.cfg.DeadAfter {
		i.first = began
	}
	i.last = began
	if began.Sub(i.forgotten) < forgetEvery {
		return false
	}
	i.forgotten = began
	return true
}
