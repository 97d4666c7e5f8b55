package postbus_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/postbustest"
	"github.com/postbus/postbus/webhooks"
)

// 500, 500, 200: three attempts on record with their bodies, one delivery that succeeded.
func TestWebhookIsTriedAgain(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	receiver.Answer(func(m postbustest.Message) postbustest.Answer {
		if m.N < 3 {
			return postbustest.Answer{Status: 500, Body: "try " + string(rune('0'+m.N))}
		}
		return postbustest.Answer{}
	})
	bus := startBus(t, pool, withWebhooks(postbus.Config{}))
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{})
	change(t, pool, bus, "n1", nil)
	d := deliveries(t, bus, made.Endpoint.ID, webhooks.Delivered, 1)[0]
	attempts := attemptsOf(t, bus, d.ID)
	if len(attempts) != 3 {
		t.Fatalf("attempts %+v", attempts)
	}
	for i, want := range []struct {
		status int
		body   string
	}{{500, "try 1"}, {500, "try 2"}, {200, ""}} {
		if a := attempts[i]; a.N != i+1 || a.Status != want.status || string(a.Body) != want.body || a.Latency <= 0 || !a.Spent {
			t.Errorf("attempt %+v, want %+v", a, want)
		}
	}
	stamps := map[string]bool{}
	for _, m := range receiver.Messages() {
		if m.Unverified != nil || m.ID != d.EventID {
			t.Errorf("message %s: %v", m.ID, m.Unverified)
		}
		stamps[m.Header.Get("Webhook-Signature")] = true
	}
	endpoint, err := bus.Webhooks().Get(t.Context(), made.Endpoint.ID)
	if err != nil || endpoint.FailingSince != nil {
		t.Errorf("failing since %v after a success, %v", endpoint.FailingSince, err)
	}
}

// The promise: a receiver that asks to come back later costs no attempt, and hears nothing before. Two attempts in all: ten
// times "later" would use them up if they counted.
func TestRetryAfterSpendsNoAttempt(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	receiver.Answer(func(m postbustest.Message) postbustest.Answer {
		if m.N <= 10 {
			return postbustest.Answer{Status: 429, Header: map[string]string{"Retry-After": "2"}}
		}
		return postbustest.Answer{}
	})
	bus := startBus(t, pool, withWebhooks(postbus.Config{Webhooks: &webhooks.Config{Schedule: []time.Duration{10 * time.Millisecond}}}))
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{})
	change(t, pool, bus, "n1", nil)
	change(t, pool, bus, "n2", nil)
	got := receiver.WaitFor(t, 12, 2*time.Minute)
	done := deliveries(t, bus, made.Endpoint.ID, webhooks.Delivered, 2)
	for i := 1; i <= 10; i++ {
		if pause := got[i].At.Sub(got[i-1].At); pause < 1990*time.Millisecond {
			t.Errorf("request %d came %s after a Retry-After of 2 s", i+1, pause)
		}
	}
	if tries := done[0].Tries + done[1].Tries; tries != 12 || done[0].Attempts != 1 || done[1].Attempts != 1 {
		t.Errorf("%d tries; attempts spent: %d and %d, want 1 each", tries, done[0].Attempts, done[1].Attempts)
	}
}

// One lane's Retry-After holds for all lanes of the endpoint: what is under way ends, and nothing else is sent.
func TestRetryAfterHoldsAllLanes(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	receiver.Answer(func(m postbustest.Message) postbustest.Answer {
		if m.N == 100 {
			return postbustest.Answer{Status: 503, Header: map[string]string{"Retry-After": "2"}}
		}
		return postbustest.Answer{Wait: 5 * time.Millisecond}
	})
	bus := startBus(t, pool, withWebhooks(postbus.Config{}))
	const lanes = 4
	endpointTo(t, bus, receiver, webhooks.EndpointSpec{MaxInFlight: lanes})
	recordAll(t, pool, bus.Recorder(), 300, numbered("n"))
	got := receiver.WaitFor(t, 301, time.Minute)
	asked := one[time.Time](t, pool, `select cooldown_until - interval '2 seconds' from postbus.webhook_endpoints`) // when the answer was taken down
	late := 0
	for _, m := range got[100:] {
		if since := m.At.Sub(asked); since > 0 && since < 1900*time.Millisecond {
			late++
		}
	}
	if late >= lanes { // the others may have had one each under way
		t.Errorf("%d requests came while the receiver wanted none", late)
	}
	settle(t, pool)
}

// 410: this delivery is discarded, the endpoint disabled at once, what waits is discarded, what comes is skipped and can be
// recovered.
func TestGoneDisablesTheEndpoint(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	receiver := postbustest.NewReceiver(t)
	receiver.Answer(func(postbustest.Message) postbustest.Answer { return postbustest.Answer{Status: 410} })
	bus := startBus(t, pool, withWebhooks(postbus.Config{}))
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{})
	change(t, pool, bus, "n1", nil)
	d := deliveries(t, bus, made.Endpoint.ID, webhooks.Discarded, 1)[0]
	if d.Reason != "410 Gone" {
		t.Errorf("reason %q", d.Reason)
	}
	endpoint, err := bus.Webhooks().Get(t.Context(), made.Endpoint.ID)
	if err != nil || endpoint.Enabled || !strings.Contains(endpoint.DisabledReason, "410") {
		t.Errorf("endpoint %+v, %v", endpoint, err)
	}
	eventually(t, within, pool, 1, `select count(*) from postbus.events where type = $1 and subject = $2`, webhooks.EndpointDisabled, made.Endpoint.ID)

	change(t, pool, bus, "n2", nil)
	skipped := deliveries(t, bus, made.Endpoint.ID, webhooks.Skipped, 1)[0]
	if skipped.Subject != "n2" || !strings.Contains(skipped.Reason, "disabled") {
		t.Errorf("skipped %+v", skipped)
	}
	receiver.Answer(nil)
	yes := true
	if _, err := bus.Webhooks().Update(t.Context(), made.Endpoint.ID, webhooks.EndpointPatch{Enabled: &yes}); err != nil {
		t.Fatal(err)
	}
	if _, err := bus.Webhooks().Recover(t.Context(), made.Endpoint.ID, time.Now().Add(-time.Hour), time.Time{}); err != nil {
		t.Fatal(err)
	}
	deliveries(t, bus, made.Endpoint.ID, webhooks.Delivered, 2)
}

// A redirect is an answer, and a failed attempt: whoever it points to sees nothing.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	var seen atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen.Add(1) }))
	t.Cleanup(inside.Close)
	receiver := postbustest.NewReceiver(t)
	receiver.Answer(func(postbustest.Message) postbustest.Answer {
		return postbustest.Answer{Status: 302, Header: map[string]string{"Location": inside.URL}}
	})
	bus := startBus(t, pool, withWebhooks(postbus.Config{Webhooks: &webhooks.Config{Schedule: []time.Duration{10 * time.Millisecond}}}))
	made := endpointTo(t, bus, receiver, webhooks.EndpointSpec{})
	change(t, pool, bus, "n1", nil)
	d := deliveries(t, bus, made.Endpoint.ID, webhooks.Discarded, 1)[0]
	if !strings.Contains(d.Reason, "302") || d.Attempts != 2 || seen.Load() != 0 {
		t.Errorf("%+v; the target saw %d requests", d, seen.Load())
	}
}

// A secret that is empty or was pasted with a prefix is refused where it is given.
func TestSecretIsCheckedOnEntry(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, withWebhooks(postbus.Config{}))
	for _, secret := range []string{"v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", " ", "whsec_c2hvcnQ="} {
		_, err := bus.Webhooks().Create(t.Context(), webhooks.EndpointSpec{
			OwnerID: "owner", URL: "https://hook.example/x", Types: []string{"*"}, Secret: secret,
		})
		if err == nil || strings.Contains(err.Error(), "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw") {
			t.Errorf("secret %q: %v", secret, err)
		}
	}
}
