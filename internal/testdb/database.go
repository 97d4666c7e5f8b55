package testdb

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/devpg"
	"github.com/postbus/postbus/internal/wait"
)

// New returns a pool on a fresh, migrated database. Pool and database go when the test ends.
// pool.Config().ConnString() is the database's URL.
func New(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return open(t, URL(t))
}

// URL returns the address of a fresh, migrated database that is dropped when the test ends.
func URL(t testing.TB) string {
	t.Helper()
	template, err := binary.migrated(t.Context())
	if err != nil {
		t.Fatalf("testdb: %v", err)
	}
	return database(t, template)
}

// Empty returns a pool on a fresh database without any migration.
func Empty(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return open(t, EmptyURL(t))
}

// EmptyURL returns the address of a fresh database without any migration.
func EmptyURL(t testing.TB) string {
	t.Helper()
	return database(t, "template1")
}

// Server returns a private server for one test, which may restart or break it.
func Server(t testing.TB) *devpg.Server {
	t.Helper()
	server, err := devpg.Start(t.Context(), devpg.ForTests())
	if err != nil {
		t.Fatalf("testdb: %v", err)
	}
	t.Cleanup(func() {
		if err := server.StopImmediate(); err != nil {
			t.Errorf("testdb: %v", err)
		}
	})
	return server
}

// database makes a database and returns its URL.
func database(t testing.TB, template string) string {
	t.Helper()
	admin, err := binary.open(t.Context())
	if err != nil {
		t.Fatalf("testdb: %v", err)
	}
	name := newName()
	if err := create(t.Context(), admin, name, template); err != nil {
		t.Fatalf("testdb: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := drop(ctx, admin, name); err != nil {
			t.Errorf("testdb: %v", err)
		}
	})
	address, err := addressOf(admin, name)
	if err != nil {
		t.Fatalf("testdb: %v", err)
	}
	return address
}

// open returns a pool that is closed, and checked for connections not given back, at the end.
func open(t testing.TB, address string) *pgxpool.Pool {
	t.Helper()
	pool, err := newPool(t.Context(), address)
	if err != nil {
		t.Fatalf("testdb: %v", err)
	}
	t.Cleanup(func() {
		wait.Eventually(t, 10*time.Second, func() (bool, string) { // Close would wait for ever
			n := pool.Stat().AcquiredConns()
			return n == 0, fmt.Sprintf("testdb: the test has ended and has not given %d connections back to the pool", n)
		})
		pool.Close()
	})
	return pool
}

func connect(ctx context.Context, admin *pgxpool.Pool, name string) (*pgxpool.Pool, error) {
	address, err := addressOf(admin, name)
	if err != nil {
		return nil, err
	}
	return newPool(ctx, address)
}

func newPool(ctx context.Context, address string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 10
	return pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
}

// addressOf returns the admin's URL with another database in it.
func addressOf(admin *pgxpool.Pool, name string) (string, error) {
	address, err := url.Parse(admin.Config().ConnString())
	if err != nil || address.Host == "" {
		return "", fmt.Errorf("TEST_DATABASE_URL must have the form postgres://user@host:port/database (%v)", err)
	}
	address.Path = "/" + name
	return address.String(), nil
}

func create(ctx context.Context, admin *pgxpool.Pool, name, template string) error {
	var version int
	if err := admin.QueryRow(ctx, "select current_setting('server_version_num')::int").Scan(&version); err != nil {
		return fmt.Errorf("ask for the server's version: %w", err)
	}
	how := ""
	if version >= 150000 {
		how = " strategy file_copy" // half the work of the default, which writes a small template through the log
	}
	_, err := admin.Exec(ctx, "create database "+quote(name)+" template "+quote(template)+how)
	if err != nil {
		return fmt.Errorf("create a test database: %w", err)
	}
	return nil
}

func drop(ctx context.Context, admin *pgxpool.Pool, name string) error {
	_, err := admin.Exec(ctx, "drop database if exists "+quote(name)+" with (force)")
	if err != nil {
		return fmt.Errorf("drop a test database: %w", err)
	}
	return nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
