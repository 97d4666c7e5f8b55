package postbus_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/pg"
	"github.com/postbus/postbus/postbustest"
	"github.com/postbus/postbus/webhooks"
)

// testKey seals the secrets of all webhook tests: "k1:" and the base64 of 32 times "k".
const testKey = "k1:a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="

// within is how long a webhook may take to come in a test.
const within = 30 * time.Second

// withWebhooks turns webhooks on, to receivers on this machine and with retries that a test can wait for.
func withWebhooks(cfg postbus.Config) postbus.Config {
	if cfg.Webhooks == nil {
		cfg.Webhooks = &webhooks.Config{}
	}
	hooks := *cfg.Webhooks
	hooks.Keys, hooks.Allow = []string{testKey}, append(hooks.Allow, "127.0.0.1")
	if hooks.Schedule == nil {
		hooks.Schedule = slices.Repeat([]time.Duration{50 * time.Millisecond}, 17)
	}
	cfg.Webhooks = &hooks
	if cfg.Types == nil {
		cfg.Types = []events.Type{{Name: noteChanged.Name, Subject: "note id", Exposure: events.Webhook}}
	}
	return cfg
}

// endpointTo makes an endpoint of the owner that posts to the receiver, which trusts its secret.
func endpointTo(t testing.TB, bus *postbus.Bus, r *postbustest.Receiver, spec webhooks.EndpointSpec) webhooks.Created {
	t.Helper()
	if spec.OwnerID == "" {
		spec.OwnerID = "owner"
	}
	if spec.Types == nil {
		spec.Types = []string{"note.*"}
	}
	if spec.URL == "" {
		spec.URL = r.URL
	}
	made, err := bus.Webhooks().Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if r != nil {
		r.Trust(t, made.Secret)
	}
	return made
}

// change records a change of the owner's note.
func change(t testing.TB, pool *pgxpool.Pool, bus *postbus.Bus, subject string, data any) {
	t.Helper()
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		return bus.Recorder().With(tx).Record(ctx, "owner", noteChanged.Name, subject, data)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// deliveries waits until the endpoint has n deliveries in the state and answers them, the oldest first.
func deliveries(t testing.TB, bus *postbus.Bus, endpointID string, state webhooks.DeliveryState, n int) []webhooks.Delivery {
	t.Helper()
	var page webhooks.DeliveryPage
	wait.Eventually(t, within, func() (bool, string) {
		var err error
		page, err = bus.Webhooks().Deliveries(t.Context(), webhooks.DeliveryFilter{
			EndpointID: endpointID, States: []webhooks.DeliveryState{state}, Limit: 200,
		})
		if err != nil {
			return false, err.Error()
		}
		return len(page.Deliveries) >= n, fmt.Sprintf("%d deliveries are %s, want %d", len(page.Deliveries), state, n)
	})
	if len(page.Deliveries) != n {
		t.Errorf("%d deliveries are %s, want %d", len(page.Deliveries), state, n)
	}
	slices.Reverse(page.Deliveries)
	return page.Deliveries
}

// attemptsOf are a delivery's attempts, the first one first.
func attemptsOf(t testing.TB, bus *postbus.Bus, deliveryID string) []webhooks.Attempt {
	t.Helper()
	page, err := bus.Webhooks().Attempts(t.Context(), webhooks.AttemptFilter{DeliveryID: deliveryID, Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(page.Attempts)
	return page.Attempts
}

func subjects(messages []postbustest.Message) (out []string) {
	for _, m := range messages {
		out = append(out, m.Subject)
	}
	return out
}

// A change of a note reaches the receiver, signed with the secret that was shown once, its data as it was recorded; there is
// one delivery.
func TestWebhookEndToEnd(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	trace := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	bus := startBus(t, pool, withWebhooks(postbus.Config{Trace: func(context.Context) string { return trace }}))
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{Headers: map[string]string{"X-Team": "notes"}})
	data := json.RawMessage(`{"b":1, "a":1.0,"big":12345678901234567890}`)
	change(t, pool, bus, "n1", data)

	m := receiver.WaitFor(t, 1, within)[0]
	if m.Unverified != nil {
		t.Errorf("the signature does not hold: %v", m.Unverified)
	}
	if m.Subject != "n1" || m.Type != noteChanged.Name {
		t.Errorf("type %q, subject %q", m.Type, m.Subject)
	}
	if !strings.Contains(string(m.Body), `"data":`+string(data)) {
		t.Errorf("the data is not as it was recorded: %s", m.Body)
	}
	if m.Header.Get("Traceparent") != trace || m.Header.Get("X-Team") != "notes" || m.Header.Get("Content-Type") != "application/json" {
		t.Errorf("headers: %v", m.Header)
	}
	done := deliveries(t, bus, made.Endpoint.ID, webhooks.Delivered, 1)[0]
	if done.EventID != m.ID || one[int](t, pool, `select count(*) from postbus.webhook_deliveries`) != 1 {
		t.Errorf("the delivery is of event %s, the message of %s", done.EventID, m.ID)
	}
	attempts := attemptsOf(t, bus, done.ID)
	if len(attempts) != 1 || attempts[0].Status != 200 || attempts[0].Latency <= 0 {
		t.Errorf("attempts %+v", attempts)
	}
}

// Inside, outside, inside of the scope: the receiver gets the two inside, in the order in which they were recorded.
func TestWebhookScopeAndOrder(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	bus := startBus(t, pool, withWebhooks(postbus.Config{}))
	endpointTo(t, bus, receiver, webhooks.EndpointSpec{
		Ordered: true, Scope: webhooks.Scope{Data: map[string][]any{"folder": {"in"}}},
	})
	for i := range 30 {
		change(t, pool, bus, "a", map[string]any{"folder": "in", "i": i})
		change(t, pool, bus, "b", map[string]any{"folder": "out", "i": i})
		change(t, pool, bus, "c", map[string]any{"folder": "in", "i": i})
	}
	receiver.WaitFor(t, 60, within)
	settle(t, pool)
	got := receiver.Messages()
	if len(got) != 60 {
		t.Errorf("%d messages came, want the 60 inside", len(got))
	}
	next := map[string]int{}
	for _, m := range got {
		var data struct{ I int }
		if err := json.Unmarshal(m.Data, &data); err != nil || m.Subject == "b" {
			t.Fatalf("%s %s: %v", m.Subject, m.Data, err)
		}
		if data.I != next[m.Subject] {
			t.Fatalf("change %d of %s came where %d was due: %v", data.I, m.Subject, next[m.Subject], subjects(got))
		}
		next[m.Subject]++
	}
}

// settle waits until nothing is left to be fanned out or delivered.
func settle(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	eventually(t, within, pool, 0, unfannedSQL)
	eventually(t, within, pool, 0, `select count(*) from postbus.events e where e.fanout ? 'webhook.fanout'
		and not exists (select from postbus.webhook_fanouts f where f.event_id = e.id)`)
	eventually(t, within, pool, 0, `select count(*) from postbus.webhook_deliveries where state = 'pending'`)
}
