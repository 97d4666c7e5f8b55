package workers_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/pg"
)

var (
	eventCount = flag.Int("events", 300, "how many events each worker's language processes while being killed")
	seed       = flag.Uint64("seed", 1, "of what is recorded and when workers are killed")
)

func TestMain(m *testing.M) {
	testdb.Run(m, func(ctx context.Context, pool *pgxpool.Pool) error { return pg.Migrate(ctx, pool, river.Migrator()) })
}

// shop is a database with orders and labels, and a bus that only fans out.
type shop struct {
	*testing.T
	pool   *pgxpool.Pool
	worker string // the address for a role that may work and write labels, and nothing else
	bus    *postbus.Bus
}

const shopSQL = `
create table orders (id bigint primary key);
create table labels (kind text, event_id uuid, worker text); -- no key: what is written twice shows
select postbus.declare_type('order.placed', 'An order was placed', 'order id');
`

func newShop(t *testing.T) *shop {
	s := &shop{T: t, pool: testdb.New(t)}
	s.psql(shopSQL)
	s.worker = s.makeWorker()
	var err error
	s.bus, err = postbus.New(s.pool, postbus.Config{App: "relay", Log: testdb.Log(), PollInterval: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.bus.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.bus.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return s
}

// makeWorker makes a role and answers its address.
func (s *shop) makeWorker() string {
	s.Helper()
	role := "worker_" + strings.ToLower(rand.Text()[:10])
	s.psql(fmt.Sprintf("create role %[1]s login password 'x'; grant postbus_worker to %[1]s; grant insert on labels to %[1]s;", role))
	s.Cleanup(func() { s.psql(fmt.Sprintf("drop owned by %[1]s cascade; drop role %[1]s;", role)) })
	address, err := url.Parse(s.pool.Config().ConnString())
	if err != nil {
		s.Fatal(err)
	}
	address.User = url.UserPassword(role, "x")
	return address.String()
}

// psql runs a script with the real psql.
func (s *shop) psql(script string) {
	s.Helper()
	if out, err := runPsql(s.pool.Config().ConnString(), script); err != nil {
		s.Fatalf("psql: %v\n%s", err, out)
	}
}

func runPsql(address, script string) (string, error) {
	cmd := exec.Command("psql", address, "-XqAt", "-v", "ON_ERROR_STOP=1")
	cmd.Stdin = strings.NewReader(script)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// declare declares a subscription of its own for a language, with a short lease and pause.
func (s *shop) declare(name string) {
	s.Helper()
	s.psql(fmt.Sprintf("select postbus.declare_subscription('%s', array['order.placed'], 100, '%d seconds', array['100ms']::interval[]);", name, leaseSeconds))
}

// ask reads a single value.
func ask[T any](s *shop, sql string, args ...any) (v T) {
	s.Helper()
	if err := s.pool.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		s.Fatalf("%s: %v", sql, err)
	}
	return v
}

// until waits for the query to answer want.
func until[T comparable](s *shop, within time.Duration, want T, sql string, args ...any) {
	s.Helper()
	wait.Eventually(s.T, within, func() (bool, string) {
		got := ask[T](s, sql, args...)
		return got == want, fmt.Sprintf("%s: is %v, want %v", sql, got, want)
	})
}
