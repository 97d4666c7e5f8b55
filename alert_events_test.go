package postbus_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/postbustest"
	"github.com/postbus/postbus/webhooks"
)

// failing is a kind whose jobs are given up at once.
var failing = jobs.Kind{Name: "failing", Queue: "default", Handle: func(context.Context, jobsArgs) error {
	return jobs.Discard(errors.New("no such thing"))
}}

// fail makes a job of the kind and waits until it is given up.
func fail(t testing.TB, pool *pgxpool.Pool, bus *postbus.Bus) jobs.JobID {
	t.Helper()
	id, err := bus.Jobs().Enqueue(t.Context(), failing.Name, struct{}{}, jobs.EnqueueOpts{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, within, pool, "discarded", `select state::text from postbus.river_job where id = $1::text::bigint`, string(id))
	return id
}

func look(t testing.TB, buses ...*postbus.Bus) {
	t.Helper()
	for _, bus := range buses {
		if err := bus.Events().LookAtAlerts(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// nextLook lets the time between two looks pass.
func nextLook(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	mustExec(t, pool, `update postbus.alerts set absent_since = absent_since - interval '30 seconds'`)
}

// told counts the events that tell of alerts, as "raised jobs_discarded".
func told(t testing.TB, pool *pgxpool.Pool) map[string]int {
	t.Helper()
	rows, err := pool.Query(t.Context(), `select replace(type, 'postbus.alert.', '') || ' ' || (data ->> 'name') from postbus.events
		where type like 'postbus.alert.%'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	counts := map[string]int{}
	for rows.Next() {
		var what string
		if err := rows.Scan(&what); err != nil {
			t.Fatal(err)
		}
		counts[what]++
	}
	return counts
}

func requireTold(t testing.TB, pool *pgxpool.Pool, want map[string]int) {
	t.Helper()
	if diff := cmp.Diff(want, told(t, pool)); diff != "" {
		t.Errorf("told of (-want +got):\n%s", diff)
	}
}

// Promise: an alert reaches the endpoint of its owner as a signed webhook when it is raised, once, and when it is cleared.
func TestAlertReachesSomeone(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	bus := startBus(t, pool, withWebhooks(postbus.Config{Kinds: []jobs.Kind{failing}, AlertOwner: "ops"}))
	endpointTo(t, bus, receiver, webhooks.EndpointSpec{OwnerID: "ops", Types: []string{"postbus.alert.*"}, Ordered: true})
	job := fail(t, pool, bus)
	look(t, bus, bus)

	raised := notice(t, receiver.WaitFor(t, 1, within)[0], events.AlertRaised)
	want := events.AlertNotice{
		Name: events.AlertDiscarded, Count: 1, Message: "1 jobs failed for good",
		WayOut: "Read the job's errors, then retry, cancel or acknowledge it.",
	}
	if diff := cmp.Diff(want, raised, cmpopts.IgnoreFields(want, "RaisedAt")); diff != "" || raised.RaisedAt.IsZero() {
		t.Errorf("raised at %s (-want +got):\n%s", raised.RaisedAt, diff)
	}
	since, err := bus.Events().AlertsRaisedAt(t.Context())
	if err != nil || !since[events.AlertDiscarded].Equal(raised.RaisedAt) {
		t.Errorf("raised at %v, %v; told was %s", since, err, raised.RaisedAt)
	}
	if err := bus.Inspector().Acknowledge(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	look(t, bus)
	nextLook(t, pool)
	look(t, bus)
	cleared := notice(t, receiver.WaitFor(t, 2, within)[1], events.AlertCleared)
	if cleared.ClearedAt == nil || cleared.ClearedAt.Before(raised.RaisedAt) || !cleared.RaisedAt.Equal(raised.RaisedAt) || cleared.Count != 1 {
		t.Errorf("cleared %+v, raised %+v", cleared, raised)
	}
	history, err := bus.Events().AlertHistory(t.Context(), "", 10)
	if err != nil || len(history) != 1 || history[0].OwnerID != "ops" || cmp.Diff(cleared, history[0].AlertNotice) != "" {
		t.Errorf("history %+v, %v", history, err)
	}
}

// notice is what a signed webhook says of an alert.
func notice(t testing.TB, m postbustest.Message, typ string) (n events.AlertNotice) {
	t.Helper()
	if m.Unverified != nil || m.Type != typ || m.Subject != events.AlertDiscarded {
		t.Errorf("%s about %s, signature: %v; want %s", m.Type, m.Subject, m.Unverified, typ)
	}
	if err := json.Unmarshal(m.Data, &n); err != nil {
		t.Fatalf("%s: %v", m.Data, err)
	}
	return n
}

// Promise: however many processes and applications look at once, with webhooks and without, an alert is raised once, and cleared
// once.
func TestAlertIsToldOnce(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	buses := []*postbus.Bus{
		startBus(t, pool, postbus.Config{App: "a", Kinds: []jobs.Kind{failing}}),
		startBus(t, pool, withWebhooks(postbus.Config{App: "b", Types: []events.Type{}})),
		startBus(t, pool, withWebhooks(postbus.Config{App: "b", Types: []events.Type{}})),
	}
	atOnce := func() {
		var all sync.WaitGroup
		for range 5 {
			for _, bus := range buses {
				all.Go(func() {
					if err := bus.Events().LookAtAlerts(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
	}
	job := fail(t, pool, buses[0])
	atOnce()
	requireTold(t, pool, map[string]int{"raised jobs_discarded": 1})
	if err := buses[0].Inspector().Acknowledge(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	atOnce()
	requireTold(t, pool, map[string]int{"raised jobs_discarded": 1})
	nextLook(t, pool)
	atOnce()
	requireTold(t, pool, map[string]int{"raised jobs_discarded": 1, "cleared jobs_discarded": 1})
}

// Promise: the alert and the event that tells of it commit together, or neither does.
func TestAlertIsToldWhole(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{Kinds: []jobs.Kind{failing}})
	fail(t, pool, bus)
	mustExec(t, pool, `update postbus.event_types set name = 'postbus.away' where name = 'postbus.alert.raised'`)
	if err := bus.Events().LookAtAlerts(t.Context()); !errors.Is(err, events.ErrUndeclaredType) {
		t.Errorf("a look whose event cannot be recorded: %v", err)
	}
	if n := one[int](t, pool, `select count(*) from postbus.alerts`); n != 0 {
		t.Errorf("%d alerts count as told", n)
	}
	mustExec(t, pool, `update postbus.event_types set name = 'postbus.alert.raised' where name = 'postbus.away'`)
	look(t, bus)
	requireTold(t, pool, map[string]int{"raised jobs_discarded": 1})
}

// Promise: an alert that is away for one look is not cleared, and not raised again when it is back. What a process does not watch
// it does not clear.
func TestFlappingAlertIsToldOnce(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{Kinds: []jobs.Kind{failing}})
	mustExec(t, pool, `insert into postbus.alerts (owner_id, name, count, message, way_out, seen_at)
		values ('postbus', 'webhook_endpoints_failing', 1, 'm', 'w', now() - interval '1 hour')`)
	for range 3 {
		job := fail(t, pool, bus)
		look(t, bus)
		if err := bus.Inspector().Acknowledge(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		look(t, bus)
		nextLook(t, pool)
	}
	requireTold(t, pool, map[string]int{"raised jobs_discarded": 1})
	look(t, bus)
	requireTold(t, pool, map[string]int{"raised jobs_discarded": 1, "cleared jobs_discarded": 1})
	if n := one[int](t, pool, `select count(*) from postbus.alerts where cleared_at is null and absent_since is null`); n != 1 {
		t.Errorf("%d alerts are open, want webhooks' own, untouched", n)
	}
}

// Promise: an alert about the endpoint that alerts are sent to is raised once: that it cannot be delivered raises nothing more.
func TestAlertAboutTheReceiverOfAlerts(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	receiver.Answer(func(postbustest.Message) postbustest.Answer { return postbustest.Answer{Status: 503} })
	bus := startBus(t, pool, withWebhooks(postbus.Config{Kinds: []jobs.Kind{failing}, AlertOwner: "ops"}))
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{OwnerID: "ops", Types: []string{"*"}})
	fail(t, pool, bus)
	for n := 1; n <= 2; n++ { // the second is about the first
		look(t, bus)
		eventually(t, within, pool, n, `select count(*)::integer from postbus.webhook_deliveries`)
		mustExec(t, pool, `update postbus.webhook_deliveries set state = 'discarded', next_attempt_at = null, settled_at = now()`)
	}
	for range 3 {
		look(t, bus)
		eventually(t, within, pool, 0, unfannedSQL)
	}
	requireTold(t, pool, map[string]int{"raised jobs_discarded": 1, "raised webhook_deliveries_discarded": 1})
	if got := one[string](t, pool, `select about from postbus.alerts where name = $1`, webhooks.AlertDiscarded); got != made.Endpoint.ID {
		t.Errorf("it is about %q, want the endpoint", got)
	}
}
