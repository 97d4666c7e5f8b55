package postbus_test

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/postbustest"
	"github.com/postbus/postbus/webhooks"
)

var webhookDeliveries = flag.Int("webhook.deliveries", 1000, "deliveries of the test of the cap over two processes")

// hooksApp is the application whose child process delivers webhooks.
const hooksApp = "hooks"

// hooksCrasher has a database, a bus here that makes endpoints and events but does not run, and children that deliver.
func hooksCrasher(t *testing.T) (*crasher, *postbus.Bus) {
	t.Helper()
	url := testdb.URL(t)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	bus, err := postbus.New(pool, crashConfig(pool, hooksApp))
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Declare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &crasher{t: t, pool: pool, url: url, rec: bus.Recorder()}, bus
}

// Killed between the receiver's answer and its record, a delivery is sent again under the same webhook-id, and the account
// balances.
func TestWebhookKilledBeforeTheRecordIsSentAgain(t *testing.T) {
	t.Parallel()
	c, bus := hooksCrasher(t)
	receiver := postbustest.NewReceiver(t)
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{})
	tx, err := c.pool.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), `lock table postbus.webhook_attempts in share mode`); err != nil {
		t.Fatal(err)
	}
	child := c.spawnApp(hooksApp)
	defer c.kill(child)
	change(t, c.pool, bus, "n1", nil)
	first := receiver.WaitFor(t, 1, within)[0]
	wait.Eventually(t, within, func() (bool, string) {
		return one[int](t, c.pool, `select count(*) from pg_stat_activity where wait_event_type = 'Lock'
			and query like '%insert into postbus.webhook_attempts%' and datname = current_database()`) > 0, "the record does not wait"
	})
	c.kill(child)
	if err := tx.Rollback(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := len(receiver.Messages()); n != 1 {
		t.Fatalf("%d requests before the kill", n)
	}
	killed := time.Now()
	next := c.spawnApp(hooksApp)
	defer c.kill(next)
	second := receiver.WaitFor(t, 2, time.Minute)[1]
	if second.ID != first.ID || second.Unverified != nil {
		t.Errorf("sent as %s, then as %s (%v)", first.ID, second.ID, second.Unverified)
	}
	t.Logf("sent again %s after the kill", second.At.Sub(killed).Round(time.Millisecond))
	deliveries(t, bus, made.Endpoint.ID, webhooks.Delivered, 1)
	balanced(t, bus)
}

// balanced checks that every delivery that a fan-out counted is in one of the four states.
func balanced(t testing.TB, bus *postbus.Bus) webhooks.Account {
	t.Helper()
	a, err := bus.Webhooks().Account(t.Context(), webhooks.AccountFilter{Since: time.Now().Add(-24 * time.Hour), Until: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if a.Unaccounted != 0 || a.Outstanding != 0 {
		t.Errorf("the account does not balance: %+v", a)
	}
	return a
}

// The promise: over two processes an endpoint never has more requests under way than it allows, and comes to as many.
func TestInFlightCapOverProcesses(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 4} {
		t.Run("cap "+string(rune('0'+limit)), func(t *testing.T) {
			t.Parallel()
			c, bus := hooksCrasher(t)
			receiver := postbustest.NewReceiver(t)
			pause := time.Duration(limit) * 5 * time.Millisecond // the backlog must not drain before it has built up
			receiver.Answer(func(postbustest.Message) postbustest.Answer { return postbustest.Answer{Wait: pause} })
			made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{MaxInFlight: limit})
			for range 2 {
				child := c.spawnApp(hooksApp)
				defer c.kill(child)
			}
			n := *webhookDeliveries
			recordAll(t, c.pool, c.rec, n, numbered("n"))
			eventually(t, time.Minute+time.Duration(n)*100*time.Millisecond, c.pool, n, `select count(*) from postbus.webhook_deliveries where state = 'delivered' and endpoint_id = $1`, made.Endpoint.ID)
			if most := receiver.MostInFlight(); most != limit {
				t.Errorf("%d requests were under way at a time, want %d", most, limit)
			}
			if got := len(receiver.Messages()); got != n {
				t.Errorf("%d requests for %d deliveries", got, n)
			}
			instances := one[int](t, c.pool, `select count(distinct attempted_by[1]) from postbus.river_job where kind = $1`, webhooks.Deliver)
			if instances < 2 {
				t.Errorf("%d processes delivered, want both", instances)
			}
			balanced(t, bus)
		})
	}
}

// A worker that is killed in mid-request delays its endpoint by its lease, and no other hand sends before that.
func TestKilledInMidRequestDelaysByTheLease(t *testing.T) {
	t.Parallel()
	c, bus := hooksCrasher(t)
	receiver := postbustest.NewReceiver(t)
	receiver.Answer(func(m postbustest.Message) postbustest.Answer {
		if m.N == 1 {
			return postbustest.Answer{Wait: time.Minute}
		}
		return postbustest.Answer{}
	})
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{})
	child := c.spawnApp(hooksApp)
	defer c.kill(child)
	change(t, c.pool, bus, "n1", nil)
	change(t, c.pool, bus, "n2", nil)
	begun := receiver.WaitFor(t, 1, within)[0].At
	c.kill(child)
	next := c.spawnApp(hooksApp)
	defer c.kill(next)
	got := receiver.WaitFor(t, 3, time.Minute)
	pause := got[1].At.Sub(begun)
	t.Logf("the next request came %s after the one that was cut", pause.Round(time.Millisecond))
	const lease = 16 * time.Second // 10 s for the request, 1 s for a rate, 5 s for the record
	if pause < lease-time.Second || pause > lease+15*time.Second {
		t.Errorf("another request came %s after the first, whose lease stood for %s", pause, lease)
	}
	deliveries(t, bus, made.Endpoint.ID, webhooks.Delivered, 2)
	balanced(t, bus)
}
