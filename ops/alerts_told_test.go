package ops

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postbus/postbus/pg"
	"github.com/postbus/postbus/webhooks"
)

// The list says since when an alert stands; the history has it after it was cleared, the last raised first.
func TestAlertsThatWereToldOf(t *testing.T) {
	t.Parallel()
	r, runtime := fixture(t)
	discard(t, r, seedTasks(t, runtime, "ann", 1)...)
	list := func() Alert {
		t.Helper()
		return answerOf[Listed[Alert]](t, r, operator, "alerts.list", `{}`).Items[0]
	}
	if got := list(); got.Name != "jobs_discarded" || got.RaisedAt != nil {
		t.Errorf("before the first look: %+v", got)
	}
	execSQL(t, r, `insert into postbus.alerts (owner_id, name, about, count, message, way_out, raised_at, cleared_at)
		select 'postbus', case when n < 3 then 'orphaned_kind' else 'jobs_discarded' end, n::text, n, 'm', 'w', '2030-01-01T00:00:00Z'::timestamptz + make_interval(mins => n),
			case when n < 3 then now() end
		from generate_series(1, 5) as n`)
	if got := list(); got.RaisedAt == nil || !got.RaisedAt.Equal(time.Date(2030, 1, 1, 0, 3, 0, 0, time.UTC)) {
		t.Errorf("raised at %v, want the first of those open", got.RaisedAt)
	}
	var got []string
	for next, pages := "", 0; pages == 0 || next != ""; pages++ {
		page := answerOf[Listed[AlertRecord]](t, r, operator, "alerts.history", fmt.Sprintf(`{"limit":2,"cursor":%q}`, next))
		for _, a := range page.Items {
			got = append(got, fmt.Sprint(a.ID, a.Name, a.About, a.ClearedAt != nil))
		}
		next = page.Next
	}
	if want := "5jobs_discarded5false 4jobs_discarded4false 3jobs_discarded3false 2orphaned_kind2true 1orphaned_kind1true"; strings.Join(got, " ") != want {
		t.Errorf("history %v", got)
	}
	for _, key := range []string{"0", "-1", "x", "99999999999999999999"} {
		refused(t, r, operator, "alerts.history", fmt.Sprintf(`{"cursor":%q}`, sealCursor("alert_history", key)), Invalid)
	}
	refused(t, r, boundTo("ann"), "alerts.history", `{}`, Forbidden)
}

// A process without keys shows webhooks and repairs them, for a process that has the keys to send; it refuses what makes a secret, with
// the way out.
func TestWebhooksWithoutKeys(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	id := newEndpoint(t, r, "ann")
	keyless, err := webhooks.New(r.deps.Pool, webhooks.Config{Allow: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	keyless.Bind(r.deps.Events, r.deps.Runtime)
	r.deps.Webhooks = keyless
	if page := answerOf[Listed[Endpoint]](t, r, operator, "webhooks.list", `{}`); len(page.Items) != 1 {
		t.Errorf("%+v", page)
	}
	for name, input := range map[string]string{
		"webhooks.create":        `{"owner_id":"ann","url":"http://127.0.0.1:9999/","types":["note.changed"]}`,
		"webhooks.rotate_secret": byID(id),
	} {
		if told := refused(t, r, operator, name, input, Conflict); !strings.Contains(told.Message, "webhook_keys") {
			t.Errorf("%s: no way out: %v", name, told)
		}
	}
	if sent := answerOf[Delivery](t, r, operator, "webhooks.send_test", byID(id)); sent.State != string(webhooks.Pending) {
		t.Errorf("a test waits for a process with keys: %+v", sent)
	}
	if _, off := carryOut[Endpoint](t, r, operator, "webhooks.disable", byID(id)); off.Enabled {
		t.Errorf("%+v", off)
	}
}

// The status says how the process that answers hears notifications.
func TestStatusOfListener(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	since := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	if got := answerOf[SystemStatus](t, r, operator, "system.status", `{}`).Listener; got != nil {
		t.Errorf("without a listener: %+v", got)
	}
	r.deps.Listener = func() pg.ListenerState { return pg.ListenerState{Hearing: pg.Deaf, Since: since} }
	if got := answerOf[SystemStatus](t, r, operator, "system.status", `{}`).Listener; got == nil || *got != (Hearing{State: "deaf", Since: since}) {
		t.Errorf("a deaf listener: %+v", got)
	}
}
