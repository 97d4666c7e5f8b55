package main

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/postbustest"
	"github.com/postbus/postbus/webhooks"
)

// hookKey seals secrets in tests. Do not use it.
var hookKey = "k1:" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("0123456789abcdef", 2)))

// hookSettings turn webhooks on, to receivers on this machine.
func hookSettings() []string {
	return []string{"POSTBUS_WEBHOOK_KEYS=" + hookKey, "POSTBUS_WEBHOOK_ALLOW=127.0.0.1"}
}

// hooked is a database with endpoints, events for them, and a receiver.
type hooked struct {
	pool     *pgxpool.Pool
	bus      *postbus.Bus // does not run
	receiver *postbustest.Receiver
	ends     int
	sent     int
	began    time.Time
}

// hook makes n endpoints, each with this many requests at a time.
func hook(t *testing.T, pool *pgxpool.Pool, n, inFlight int) *hooked {
	t.Helper()
	bus, _, err := compose(pool, settings{webhookKeys: []string{hookKey}, webhookAllow: []string{"127.0.0.1"}}, testdb.Log())
	if err != nil {
		t.Fatal(err)
	}
	h := &hooked{pool: pool, bus: bus, receiver: postbustest.NewReceiver(t), ends: n, began: time.Now().Add(-time.Minute)}
	h.exec(t, `select postbus.declare_type('order.placed', '', '', 'webhook')`)
	var secrets []string
	for range n {
		made, err := bus.Webhooks().Create(t.Context(), webhooks.EndpointSpec{
			OwnerID: "ann", URL: h.receiver.URL, Types: []string{"order.*"}, MaxInFlight: inFlight,
		})
		if err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, made.Secret)
	}
	h.receiver.Trust(t, secrets...)
	return h
}

func (h *hooked) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := h.pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// record commits events, half of them in transactions of their own.
func (h *hooked) record(t *testing.T, n int) {
	t.Helper()
	h.exec(t, `select postbus.record('ann', 'order.placed', i::text, '{}') from generate_series(1, $1::int) as i`, n/2)
	for range n - n/2 {
		h.exec(t, `select postbus.record('ann', 'order.placed', 'one', '{}')`)
	}
	h.sent += n
}

// delivered waits until every committed event is delivered to every endpoint, by the account, which must balance. It answers
// how many requests were more than one for an endpoint and event.
func (h *hooked) delivered(t *testing.T) (doubles int) {
	t.Helper()
	want := int64(h.sent * h.ends)
	wait.Eventually(t, 90*time.Second, func() (bool, string) {
		a, err := h.bus.Webhooks().Account(t.Context(), webhooks.AccountFilter{Since: h.began})
		if err != nil {
			return false, err.Error()
		}
		return a.Fanout.Delivered == want && a.Matched == want && a.Unaccounted == 0 && a.Outstanding == 0,
			fmt.Sprintf("want %d delivered; the account: %+v", want, a)
	})
	times := map[string]int{}
	for _, m := range h.receiver.Messages() {
		if m.Unverified != nil {
			t.Errorf("message %s: %v", m.ID, m.Unverified)
		}
		times[m.ID]++
	}
	if len(times) != h.sent {
		t.Errorf("%d events came, %d were recorded", len(times), h.sent)
	}
	for id, n := range times {
		if n < h.ends {
			t.Errorf("event %s came %d times to %d endpoints", id, n, h.ends)
		}
		doubles += max(n-h.ends, 0)
	}
	return doubles
}

// lanes answers how many lanes each instance has run.
func (h *hooked) lanes(t *testing.T) map[string]int {
	t.Helper()
	rows, err := h.pool.Query(t.Context(), `select by, count(*)::int from postbus.river_job, unnest(attempted_by) as by
		where kind = 'webhook.deliver' group by by`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	out := map[string]int{}
	for rows.Next() {
		var by string
		var n int
		if err := rows.Scan(&by, &n); err != nil {
			t.Fatal(err)
		}
		out[by] = n
	}
	return out
}
