package postbus_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/internal/faultproxy"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/postbustest"
	"github.com/postbus/postbus/webhooks"
)

// A lane that loses the answer to its commit, which gave it the next delivery, sends that once the lease is over: it leaves no slot
// behind that nobody has.
func TestLaneGoesOnAfterItLostTheAnswerToItsCommit(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t)
	direct, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(direct.Close)
	proxy, through := faultproxy.ForURL(t, url)
	pool, err := pgxpool.New(t.Context(), through)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	// While the test holds lock 1, whoever has recorded an attempt waits for it at the commit.
	if _, err := direct.Exec(t.Context(), `create function linger() returns trigger language plpgsql as $$
		begin perform pg_advisory_xact_lock_shared(1); return null; end $$;
		create constraint trigger linger after insert on postbus.webhook_attempts deferrable initially deferred
		for each row execute function linger()`); err != nil {
		t.Fatal(err)
	}
	bus := startBus(t, pool, withWebhooks(postbus.Config{Webhooks: &webhooks.Config{Timeout: time.Second}}))
	receiver := postbustest.NewReceiver(t)
	begun := make(chan struct{})
	receiver.Answer(func(m postbustest.Message) postbustest.Answer {
		if m.N == 1 {
			<-begun
		}
		return postbustest.Answer{}
	})
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{})
	held, err := direct.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Rollback(context.Background()) }()
	if _, err := held.Exec(t.Context(), `select pg_advisory_xact_lock(1)`); err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{"n1", "n2", "n3"} {
		change(t, direct, bus, subject, nil)
	}
	eventually(t, within, direct, 3, `select count(*) from postbus.webhook_deliveries`)
	close(begun)
	wait.Eventually(t, within, func() (bool, string) {
		return one[int](t, direct, `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query = 'commit'
			and datname = current_database()`) > 0, "nobody waits at the commit"
	})
	proxy.Refuse() // for good: over a new connection the driver would cancel the commit
	wait.Eventually(t, within, func() (bool, string) { return proxy.Refused() > 0, "the connection's end was not noticed" })
	if err := held.Rollback(context.Background()); err != nil {
		t.Fatal(err)
	}
	eventually(t, within, direct, 1, `select count(*) from postbus.webhook_attempts`)
	proxy.Heal()
	committed := time.Now()
	deliveries(t, bus, made.Endpoint.ID, webhooks.Delivered, 3)
	t.Logf("all were delivered %s after the commit whose answer was lost", time.Since(committed).Round(time.Millisecond))
	balanced(t, bus)
}
