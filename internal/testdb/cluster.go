package testdb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/devpg"
)

// cluster is the server on which this test binary makes its databases.
type cluster struct {
	migrate Migrate

	mu       sync.Mutex
	server   *devpg.Server // nil where TEST_DATABASE_URL is used
	admin    *pgxpool.Pool // nil until the first use
	template string        // "" until the first use
	failed   error         // a failed start is not tried again by every test
}

// open starts the server, or finds the one that TEST_DATABASE_URL names, at the first call.
func (c *cluster) open(ctx context.Context) (*pgxpool.Pool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.admin == nil && c.failed == nil {
		c.failed = c.start(ctx)
	}
	return c.admin, c.failed
}

func (c *cluster) start(ctx context.Context) error {
	url := os.Getenv("TEST_DATABASE_URL")
	if url == "" {
		server, err := devpg.Start(ctx, devpg.ForTests())
		if err != nil {
			return err
		}
		c.server, url = server, server.URL()
	}
	admin, err := pgxpool.New(context.WithoutCancel(ctx), url)
	if err != nil {
		return fmt.Errorf("TEST_DATABASE_URL: %w", err)
	}
	if err := admin.Ping(ctx); err != nil {
		admin.Close()
		return fmt.Errorf("reach the server of the tests: %w", err)
	}
	c.admin = admin
	return c.dropAbandoned(ctx)
}

// migrated returns the name of the migrated template, made at the first call.
func (c *cluster) migrated(ctx context.Context) (string, error) {
	if _, err := c.open(ctx); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.template != "" || c.failed != nil {
		return c.template, c.failed
	}
	name := newName()
	if c.failed = c.makeTemplate(ctx, name); c.failed == nil {
		c.template = name
	}
	return c.template, c.failed
}

func (c *cluster) makeTemplate(ctx context.Context, name string) error {
	if c.migrate == nil {
		return errors.New("no migrations known: write func TestMain(m *testing.M) { testdb.Run(m, migrate) }")
	}
	if err := create(ctx, c.admin, name, "template1"); err != nil {
		return err
	}
	pool, err := connect(ctx, c.admin, name)
	if err != nil {
		return err
	}
	defer pool.Close() // a template must have no sessions
	if err := c.migrate(ctx, pool); err != nil {
		return fmt.Errorf("migrate the template: %w", err)
	}
	return nil
}

func (c *cluster) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.admin == nil {
		return nil
	}
	var err error
	if c.server == nil && c.template != "" {
		err = drop(context.Background(), c.admin, c.template)
	}
	c.admin.Close()
	if c.server != nil {
		err = errors.Join(err, c.server.StopImmediate())
	}
	return err
}

// Databases are named prefix, time of making, chance: a name says when it was abandoned.
const (
	prefix    = "postbus_test_"
	abandoned = 6 * time.Hour
)

func newName() string {
	return fmt.Sprintf("%s%d_%s", prefix, time.Now().Unix(), strings.ToLower(rand.Text()[:10]))
}

// dropAbandoned removes what test binaries that were killed left on a shared server.
func (c *cluster) dropAbandoned(ctx context.Context) error {
	if c.server != nil {
		return nil
	}
	rows, err := c.admin.Query(ctx, `
		select datname from pg_database
		where datname ~ ('^' || $1::text || '[0-9]+_') and split_part(datname, '_', 3)::bigint < $2`,
		prefix, time.Now().Add(-abandoned).Unix())
	if err != nil {
		return fmt.Errorf("look for abandoned test databases: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("look for abandoned test databases: %w", err)
	}
	for _, name := range names {
		if err := drop(ctx, c.admin, name); err != nil {
			return err
		}
	}
	return nil
}
