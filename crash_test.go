package postbus_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
)

// crashChildEnv makes this test binary run a bus on the given database until it is killed.
const (
	crashChildEnv = "POSTBUS_CRASH_CHILD"
	crashAppEnv   = "POSTBUS_CRASH_APP"
)

var crashSubs = []string{"one", "two", "three"}

// crashConfig handles an event by one row in handled, so that a second handling shows as a higher count.
func crashConfig(pool *pgxpool.Pool, app string) postbus.Config {
	if app == hooksApp {
		return quick(withWebhooks(postbus.Config{App: app}))
	}
	if box, ok := boxOf(app); ok {
		return quick(postbus.Config{App: app, Mail: mailConfig(box)})
	}
	cfg := postbus.Config{App: app}
	if app == wideApp {
		cfg.Subscriptions = []events.Subscription{wideHandling(pool)}
		return quick(cfg)
	}
	if app != "crash" {
		cfg.Types = []events.Type{} // another application declares it
	}
	for _, name := range crashSubs {
		cfg.Subscriptions = append(cfg.Subscriptions, to(name, func(ctx context.Context, e events.Event) error {
			_, err := pool.Exec(ctx, `insert into handled as h (event_id, name) values ($1, $2)
				on conflict (event_id, name) do update set times = h.times + 1`, e.ID, name)
			return err
		}))
	}
	cfg.Queues = map[string]int{"default": 8}
	return quick(cfg)
}

func crashChild(url string) {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, url)
	if err == nil {
		var bus *postbus.Bus
		if bus, err = postbus.New(pool, crashConfig(pool, os.Getenv(crashAppEnv))); err == nil {
			err = bus.Start(ctx)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {} // until SIGKILL
}

// Promise: a crash anywhere in a pass or in a handler loses nothing and doubles no job; the handler runs again.
func TestKilledAnywhereEverythingIsHandledAndNoJobDoubled(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := pool.Exec(t.Context(), `create table handled (event_id uuid, name text, times int default 1, primary key (event_id, name))`); err != nil {
		t.Fatal(err)
	}
	// This bus only declares and records; it never runs.
	bus, err := postbus.New(pool, crashConfig(pool, "crash"))
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Declare(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := crasher{t: t, pool: pool, url: url, rec: bus.Recorder()}
	for _, freeze := range freezes {
		c.record(1000)
		c.killFrozen(freeze)
	}
	for range 6 {
		c.record(1000)
		c.killRandomly()
	}
	c.finish()
}

// freezes stop a child at a known point by a lock on a table which that point needs; no hook in the product is involved.
var freezes = []struct{ name, lock, waits string }{
	{"claim", `lock table postbus.subscriptions in access exclusive mode`, "postbus.subscriptions"},
	{"enqueue", `lock table postbus.river_job in share mode`, "insert into postbus.river_job"},
	{"mark", `lock table postbus.events in share mode`, "update postbus.events"},
	{"running handler", `lock table handled in share mode`, "insert into handled"},
}

type crasher struct {
	t        *testing.T
	pool     *pgxpool.Pool
	url      string
	rec      events.Recorder
	recorded int
}

func (c *crasher) record(n int) {
	for range n / 100 {
		recordAll(c.t, c.pool, c.rec, 100, numbered(fmt.Sprintf("note-%d-", c.recorded)))
		c.recorded += 100
	}
}

func (c *crasher) spawn() *exec.Cmd { return c.spawnApp("crash") }

func (c *crasher) spawnApp(app string) *exec.Cmd {
	c.t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), crashChildEnv+"="+c.url, crashAppEnv+"="+app)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return cmd
}

func (c *crasher) kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func (c *crasher) killFrozen(freeze struct{ name, lock, waits string }) {
	c.t.Helper()
	cmd := c.spawn()
	defer c.kill(cmd)
	wait.Eventually(c.t, 30*time.Second, func() (bool, string) {
		return one[int64](c.t, c.pool, `select count(*) from handled`) > 0 && c.backlog() > 0, "the child handles nothing"
	})
	tx, err := c.pool.Begin(context.Background())
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(context.Background(), freeze.lock); err != nil {
		c.t.Fatal(err)
	}
	frozen := `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query ilike '%' || $1 || '%' and datname = current_database()`
	wait.Eventually(c.t, 20*time.Second, func() (bool, string) {
		if c.backlog() == 0 {
			recordAll(c.t, c.pool, c.rec, 100, numbered(fmt.Sprintf("more-%d-", c.recorded)))
			c.recorded += 100
		}
		return one[int64](c.t, c.pool, frozen, freeze.waits) > 0, "no backend waits in " + freeze.name
	})
	c.kill(cmd)
}

func (c *crasher) backlog() int64 { return one[int64](c.t, c.pool, unfannedSQL) }

func (c *crasher) killRandomly() {
	cmd := c.spawn()
	_ = loop.Sleep(c.t.Context(), time.Duration(100+rand.IntN(900))*time.Millisecond)
	c.kill(cmd)
}

func (c *crasher) finish() {
	c.record(10_000 - c.recorded)
	cmd := c.spawn()
	defer c.kill(cmd)
	eventually(c.t, 5*time.Minute, c.pool, int64(c.recorded*len(crashSubs)), `select count(*) from handled`)
	eventually(c.t, 30*time.Second, c.pool, int64(0), `select count(*) from postbus.river_job where kind = any($1) and state <> 'completed'`, crashSubs)
	if doubled := one[int64](c.t, c.pool, doubledSQL); doubled != 0 {
		c.t.Errorf("%d (event, subscription) pairs have two jobs", doubled)
	}
	jobs := one[int64](c.t, c.pool, `select count(*) from postbus.river_job where kind = any($1)`, crashSubs)
	if want := int64(c.recorded * len(crashSubs)); jobs != want {
		c.t.Errorf("%d jobs, want %d", jobs, want)
	}
	rescued := one[int64](c.t, c.pool, `select count(*) from postbus.river_job where kind = any($1) and cardinality(errors) > 0`, crashSubs)
	if rescued == 0 {
		c.t.Error("no job was rescued: the kills hit nothing")
	}
	again := one[int64](c.t, c.pool, `select count(*) from handled where times > 1`)
	c.t.Logf("%d events, %d jobs, %d rescued, %d handled again, killed at: 4 known points (%s), 6 random ones",
		c.recorded, jobs, rescued, again, strings.Join([]string{"claim", "enqueue", "mark", "handler"}, ", "))
}
