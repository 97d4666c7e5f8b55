package postbus_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
	"github.com/postbus/postbus/postbustest"
	"github.com/postbus/postbus/webhooks"
)

// In a line a head that is tried again blocks its subject and no other; given up, it releases its subject and raises an alert.
func TestLineWaitsForItsHead(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	var first string
	receiver.Answer(func(m postbustest.Message) postbustest.Answer {
		if m.N == 1 {
			first = m.ID
		}
		if m.ID == first {
			return postbustest.Answer{Status: 500}
		}
		return postbustest.Answer{}
	})
	bus := startBus(t, pool, withWebhooks(postbus.Config{Webhooks: &webhooks.Config{
		Schedule: []time.Duration{1500 * time.Millisecond}, FailingWait: time.Millisecond,
	}}))
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{Ordered: true})
	change(t, pool, bus, "a", map[string]int{"i": 1})
	receiver.WaitFor(t, 1, within)
	change(t, pool, bus, "a", map[string]int{"i": 2})
	change(t, pool, bus, "b", map[string]int{"i": 3})
	got := receiver.WaitFor(t, 4, within)
	if order := strings.Join(subjects(got), " "); order != "a b a a" {
		t.Errorf("order of arrival: %s; want b past a's head, the head again, then a's next", order)
	}
	if string(got[3].Data) != `{"i":2}` {
		t.Errorf("a's second change came as %s", got[3].Data)
	}
	d := deliveries(t, bus, made.Endpoint.ID, webhooks.Discarded, 1)[0]
	alert := alertNamed(t, bus, webhooks.AlertDiscarded)
	if alert == nil || alert.Count != 1 {
		t.Errorf("alert %+v for the discarded %+v", alert, d)
	}
}

func alertNamed(t testing.TB, bus *postbus.Bus, name string) *events.Alert {
	t.Helper()
	alerts, err := bus.Alerts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range alerts {
		if a.Name == name {
			return &a
		}
	}
	return nil
}

// A rate is kept over all lanes of the endpoint.
func TestRatePerSecondIsKept(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	bus := startBus(t, pool, withWebhooks(postbus.Config{}))
	endpointTo(t, bus, receiver, webhooks.EndpointSpec{MaxInFlight: 8, RatePerSecond: 20})
	recordAll(t, pool, bus.Recorder(), 60, numbered("n"))
	got := receiver.WaitFor(t, 60, within)
	for i := 25; i < len(got); i++ {
		if span := got[i].At.Sub(got[i-25].At); span < 900*time.Millisecond {
			t.Fatalf("requests %d to %d came within %s: more than 20 a second", i-25, i, span)
		}
	}
}

// Failing endpoints' lanes run in a queue of their own; new deliveries wait; without one success for long enough the endpoint
// is disabled and says why.
func TestFailingEndpointIsSetApartAndDisabled(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	receiver.Answer(func(postbustest.Message) postbustest.Answer { return postbustest.Answer{Status: 500} })
	bus := startBus(t, pool, withWebhooks(postbus.Config{Webhooks: &webhooks.Config{
		FailingWait: time.Hour, DisableAfter: 1500 * time.Millisecond,
	}}))
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{})
	change(t, pool, bus, "n1", nil)
	receiver.WaitFor(t, 2, within)
	change(t, pool, bus, "n2", nil)
	eventually(t, within, pool, true, `select next_attempt_at > now() + interval '50 minutes' from postbus.webhook_deliveries where subject = 'n2' union all select false limit 1`)
	if n := one[int](t, pool, `select count(*) from postbus.river_job where kind = $1 and queue = $2`, webhooks.Deliver, webhooks.FailingQueue); n == 0 {
		t.Error("no lane of the failing endpoint ran in the queue of failing ones")
	}
	deliveries(t, bus, made.Endpoint.ID, webhooks.Discarded, 2)
	endpoint, err := bus.Webhooks().Get(t.Context(), made.Endpoint.ID)
	if err != nil || endpoint.Enabled || !strings.Contains(endpoint.DisabledReason, "no attempt succeeded") {
		t.Errorf("endpoint %+v, %v", endpoint, err)
	}
	if alertNamed(t, bus, webhooks.AlertDisabled) == nil {
		t.Error("no alert for an endpoint that was disabled")
	}
	if m := receiver.Messages(); subjects(m)[len(m)-1] != "n1" {
		t.Error("the delivery that had to wait was sent")
	}
}

// A delivery ends with its lifetime, whatever its schedule has left.
func TestDeliveryEndsWithItsLifetime(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	receiver.Answer(func(postbustest.Message) postbustest.Answer {
		return postbustest.Answer{Status: 503, Header: map[string]string{"Retry-After": "1"}}
	})
	bus := startBus(t, pool, withWebhooks(postbus.Config{Webhooks: &webhooks.Config{Lifetime: 2500 * time.Millisecond}}))
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{})
	change(t, pool, bus, "n1", nil)
	d := deliveries(t, bus, made.Endpoint.ID, webhooks.Discarded, 1)[0]
	if !strings.Contains(d.Reason, "expired") || d.Attempts != 0 || d.Tries == 0 {
		t.Errorf("%+v", d)
	}
}

// A type that is internal never leaves, whatever the globs; nor does one that became internal before its fan-out.
func TestInternalTypesNeverLeave(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	bus := startBus(t, pool, withWebhooks(postbus.Config{Types: []events.Type{
		{Name: noteChanged.Name}, {Name: "note.published", Exposure: events.Webhook},
	}}))
	endpointTo(t, bus, receiver, webhooks.EndpointSpec{Types: []string{"*"}})
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		if err := bus.Recorder().With(tx).Record(ctx, "owner", noteChanged.Name, "secret", nil); err != nil {
			return err
		}
		return bus.Recorder().With(tx).Record(ctx, "owner", "note.published", "open", nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	receiver.WaitFor(t, 1, within)
	settle(t, pool)
	if got := subjects(receiver.Messages()); len(got) != 1 || got[0] != "open" {
		t.Errorf("left: %v", got)
	}
	if n := one[int](t, pool, `select count(*) from postbus.river_job where kind = $1`, webhooks.Fanout); n != 1 {
		t.Errorf("%d fan-out jobs for one exposed event", n)
	}
}

// A fan-out that runs twice adds nothing.
func TestFanOutTwiceAddsNothing(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	bus := startBus(t, pool, withWebhooks(postbus.Config{}))
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{})
	change(t, pool, bus, "n1", nil)
	deliveries(t, bus, made.Endpoint.ID, webhooks.Delivered, 1)
	page, err := bus.Inspector().List(t.Context(), jobs.Filter{Kinds: []string{webhooks.Fanout}})
	if err != nil || len(page.Jobs) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	id := page.Jobs[0].ID
	eventually(t, within, pool, "completed", `select state::text from postbus.river_job where kind = $1`, webhooks.Fanout)
	if _, err := bus.Inspector().Retry(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if state, ok := bus.Wait(t.Context(), id, within); !ok || state != jobs.Completed {
		t.Fatalf("the second fan-out is %s", state)
	}
	settle(t, pool)
	if n := len(receiver.Messages()); n != 1 {
		t.Errorf("%d requests", n)
	}
	balanced(t, bus)
}

// A request that is under way when its endpoint is deleted ends on record; what waits is discarded in the deletion's
// transaction.
func TestDeletingAnEndpointSettlesWhatWaits(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	release := make(chan struct{})
	receiver.Answer(func(postbustest.Message) postbustest.Answer {
		<-release
		return postbustest.Answer{}
	})
	bus := startBus(t, pool, withWebhooks(postbus.Config{}))
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{})
	change(t, pool, bus, "n1", nil)
	receiver.WaitFor(t, 1, within)
	change(t, pool, bus, "n2", nil)
	eventually(t, within, pool, 2, `select count(*) from postbus.webhook_deliveries`)
	if err := bus.Webhooks().Delete(t.Context(), made.Endpoint.ID); err != nil {
		t.Fatal(err)
	}
	if why := one[string](t, pool, `select reason from postbus.webhook_deliveries where subject = 'n2' and state = 'discarded'`); why != "endpoint deleted" {
		t.Errorf("what waited ended as %q", why)
	}
	close(release)
	eventually(t, within, pool, 1, `select count(*) from postbus.webhook_deliveries where subject = 'n1' and state = 'delivered'`)
	eventually(t, within, pool, 0, `select count(*) from postbus.webhook_slots`)
	change(t, pool, bus, "n3", nil)
	settle(t, pool)
	if n := one[int](t, pool, `select count(*) from postbus.webhook_deliveries`); n != 2 {
		t.Errorf("%d deliveries after the endpoint was deleted", n)
	}
	balanced(t, bus)
}

// A lane whose job an operator cancels gives its slot back, by the sweep at the latest.
func TestCancelledLaneDoesNotKeepItsSlot(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	bus := startBus(t, pool, withWebhooks(postbus.Config{}))
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{})
	if err := bus.Inspector().Pause(t.Context(), webhooks.DeliverQueue); err != nil {
		t.Fatal(err)
	}
	change(t, pool, bus, "n1", nil)
	eventually(t, within, pool, 1, `select count(*) from postbus.webhook_slots where job_id is not null`)
	page, err := bus.Inspector().List(t.Context(), jobs.Filter{Kinds: []string{webhooks.Deliver}})
	if err != nil || len(page.Jobs) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	if _, err := bus.Inspector().Cancel(t.Context(), page.Jobs[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := bus.Inspector().Resume(t.Context(), webhooks.DeliverQueue); err != nil {
		t.Fatal(err)
	}
	// The pause may have come late, and the cancel in the middle of a turn: then the slot's lease has to run out first.
	wait.Eventually(t, time.Minute, func() (bool, string) {
		if _, err := pool.Exec(t.Context(), `update postbus.webhook_slots set touched_at = touched_at - interval '2 minutes'`); err != nil {
			return false, err.Error()
		}
		id, err := bus.Inspector().RunPeriodic(t.Context(), "app", "webhooks.sweep")
		if err != nil {
			return false, err.Error()
		}
		bus.Wait(t.Context(), id, 5*time.Second)
		n := one[int](t, pool, `select count(*) from postbus.webhook_deliveries where state = 'delivered' and endpoint_id = $1`, made.Endpoint.ID)
		return n == 1, "the slot of a cancelled lane is not given back"
	})
}

// A process that stops in mid-request spends nothing: the next one sends again.
func TestStopInMidRequestSpendsNothing(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	receiver.Answer(func(m postbustest.Message) postbustest.Answer {
		if m.N == 1 {
			return postbustest.Answer{Wait: time.Minute}
		}
		return postbustest.Answer{}
	})
	cfg := withWebhooks(postbus.Config{StopGrace: 50 * time.Millisecond})
	bus, err := postbus.New(pool, quick(cfg))
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{})
	change(t, pool, bus, "n1", nil)
	receiver.WaitFor(t, 1, within)
	if err := bus.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := startBus(t, pool, cfg)
	d := deliveries(t, next, made.Endpoint.ID, webhooks.Delivered, 1)[0]
	if d.Attempts != 1 || d.Tries != 1 {
		t.Errorf("%d attempts, %d tries; the one that was cut counts for nothing", d.Attempts, d.Tries)
	}
}

// Two applications on one database may both deliver; an endpoint's deliveries are made once.
func TestTwoApplicationsShareWebhooks(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	bus := startBus(t, pool, withWebhooks(postbus.Config{App: "one"}))
	startBus(t, pool, withWebhooks(postbus.Config{App: "two", Types: []events.Type{{Name: "other.type", Exposure: events.Webhook}}}))
	endpointTo(t, bus, receiver, webhooks.EndpointSpec{Types: []string{"*"}})
	const n = 100
	recordAll(t, pool, bus.Recorder(), n, numbered("n"))
	receiver.WaitFor(t, n, within)
	settle(t, pool)
	if got := len(receiver.Messages()); got != n {
		t.Errorf("%d requests for %d events", got, n)
	}
	if a := balanced(t, bus); a.Fanout.Delivered != n {
		t.Errorf("account %+v", a)
	}
}

// A result stands though its attempt cannot be put on record: nothing is sent for ever because of its log.
func TestResultOutlivesItsLog(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	bus := startBus(t, pool, withWebhooks(postbus.Config{}))
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{})
	if _, err := pool.Exec(t.Context(), `alter table postbus.webhook_attempts add constraint no_log check (n < 1)`); err != nil {
		t.Fatal(err)
	}
	change(t, pool, bus, "n1", nil)
	deliveries(t, bus, made.Endpoint.ID, webhooks.Delivered, 1)
	settle(t, pool)
	if n := len(receiver.Messages()); n != 1 {
		t.Errorf("%d requests for one delivery", n)
	}
}

// An endpoint that allows fewer requests than before comes down to them.
func TestLoweredCapTakesHold(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	receiver.Answer(func(postbustest.Message) postbustest.Answer { return postbustest.Answer{Wait: 20 * time.Millisecond} })
	bus := startBus(t, pool, withWebhooks(postbus.Config{}))
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{MaxInFlight: 8})
	recordAll(t, pool, bus.Recorder(), 400, numbered("n"))
	receiver.WaitFor(t, 100, within)
	fewer := 2
	if _, err := bus.Webhooks().Update(t.Context(), made.Endpoint.ID, webhooks.EndpointPatch{MaxInFlight: &fewer}); err != nil {
		t.Fatal(err)
	}
	eventually(t, within, pool, true, `select count(*) <= 2 from postbus.webhook_slots`)
	receiver.Forget()
	receiver.WaitFor(t, 60, within)
	if most := receiver.MostInFlight(); most > fewer {
		t.Errorf("%d requests were under way at a time, want %d", most, fewer)
	}
	settle(t, pool)
}

// Exposure is looked at again when the fan-out runs: a type that became internal meanwhile does not leave.
func TestTypeThatBecameInternalDoesNotLeave(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	bus := startBus(t, pool, withWebhooks(postbus.Config{}))
	endpointTo(t, bus, receiver, webhooks.EndpointSpec{Types: []string{"note.*"}})
	held, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := held.Exec(t.Context(), `lock table postbus.webhook_endpoints`); err != nil { // the fan-out waits where it looks for takers
		t.Fatal(err)
	}
	change(t, pool, bus, "n1", nil)
	eventually(t, within, pool, 0, unfannedSQL)
	if _, err := pool.Exec(t.Context(), `update postbus.event_types set exposure = 'internal' where name = $1`, noteChanged.Name); err != nil {
		t.Fatal(err)
	}
	if err := held.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	settle(t, pool)
	if a := balanced(t, bus); len(receiver.Messages()) != 0 || a.FannedOut != 1 || a.Matched != 0 {
		t.Errorf("%d requests, account %+v", len(receiver.Messages()), a)
	}
}
