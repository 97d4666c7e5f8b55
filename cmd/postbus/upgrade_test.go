package main

import (
	"context"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/pg"
)

// beforeWebhooks makes a database as the version before webhooks left it, in which the application shop had declared a
// subscription: three events wait for the relay, two were fanned out and their jobs wait for a worker.
func beforeWebhooks(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := testdb.Empty(t)
	if err := pg.Migrate(t.Context(), pool, river.Migrator()); err != nil {
		t.Fatal(err)
	}
	all := pg.Migrations()
	for i := len(all) - 1; all[i].Version > 6; i-- {
		script(t, pool, all[i].Down)
		script(t, pool, `delete from postbus.migrations where version = `+strconv.FormatInt(all[i].Version, 10))
	}
	extras, err := os.ReadFile("testdata/before_webhooks/extras.sql")
	if err != nil {
		t.Fatal(err)
	}
	script(t, pool, string(extras))
	script(t, pool, `
		select postbus.declare_type('order.placed');
		insert into postbus.subscriptions (name, declaration, app, types, coalesces, queue, max_attempts)
		values ('shop.confirm', 'old', 'shop', '{order.*}', false, 'default', 5);
		select postbus.record('ann', 'order.placed', i::text) from generate_series(1, 5) as i;
		update postbus.events set fanned_out_at = clock_timestamp() where subject in ('4', '5');
		insert into postbus.river_job (kind, args, max_attempts, queue, state, priority)
		select 'shop.confirm', jsonb_build_object('event_id', e.id, 'subscription', 'shop.confirm'), 5, 'default', 'available', 1
		from postbus.events as e where e.fanned_out_at is not null;`)
	return pool
}

func script(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Conn().PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
		t.Fatalf("%v in:\n%s", err, sql)
	}
}

// serve starts on a database of the version before webhooks without help: what waited there flows, and what is new works.
func TestServeUpgrades(t *testing.T) {
	t.Parallel()
	pool := beforeWebhooks(t)
	s := serving{database: pool.Config().ConnString(), env: hookSettings()}.start(t)
	s.eventually(t, "/readyz", http.StatusOK, "ready")
	wait.Eventually(t, time.Minute, func() (bool, string) {
		var waits, made int
		err := pool.QueryRow(t.Context(), `select (select count(*) from postbus.events where fanned_out_at is null),
			(select count(*) from postbus.river_job where kind = 'shop.confirm')`).Scan(&waits, &made)
		return err == nil && waits == 0 && made == 5, "the events that waited are not fanned out"
	})

	var mu sync.Mutex
	seen := map[string]int{}
	shop, err := postbus.New(pool, postbus.Config{App: "shop", Log: testdb.Log(), Subscriptions: []events.Subscription{{
		Name: "shop.confirm", Types: []string{"order.*"}, Queue: "default", MaxAttempts: 5,
		Handle: func(_ context.Context, e events.Event) error {
			mu.Lock()
			defer mu.Unlock()
			seen[e.Subject]++
			return nil
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := shop.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait.Eventually(t, time.Minute, func() (bool, string) {
		mu.Lock()
		defer mu.Unlock()
		return len(seen) == 5, "the jobs that waited are not worked on"
	})
	if err := shop.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for subject, n := range seen {
		if n != 1 {
			t.Errorf("event %s was handled %d times", subject, n)
		}
	}
	h := hook(t, pool, 1, 1)
	h.began = time.Now()
	h.record(t, 4)
	if doubles := h.delivered(t); doubles > 0 {
		t.Errorf("%d requests were made twice", doubles)
	}
	s.end(t)
}
