package ops

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Taking note of what failed for good ends its alert and keeps the jobs.
func TestAcknowledgeAlert(t *testing.T) {
	t.Parallel()
	r, runtime := fixture(t)
	discard(t, r, append(seedTasks(t, runtime, "ann", 3), seedTasks(t, runtime, "bob", 2)...)...)
	counts := func() map[string]int64 {
		t.Helper()
		out := map[string]int64{}
		for _, alert := range answerOf[Listed[Alert]](t, r, operator, "alerts.list", `{}`).Items {
			out[alert.Name] = alert.Count
		}
		return out
	}
	for _, step := range []struct {
		input string
		want  Changed
		left  int64
	}{
		{`{"name":"jobs_discarded","owner_id":"ann","limit":2}`, Changed{2, true}, 3},
		{`{"name":"jobs_discarded","owner_id":"ann","limit":2}`, Changed{1, false}, 2},
		{`{"name":"jobs_discarded","kinds":["other"]}`, Changed{}, 2},
		{`{"name":"jobs_discarded","kinds":["work"]}`, Changed{2, false}, 0},
	} {
		got := answerOf[acknowledged](t, r, operator, "alerts.acknowledge", step.input)
		if got.Changed != step.want || counts()["jobs_discarded"] != step.left {
			t.Errorf("%s: %+v, alerts %v", step.input, got, counts())
		}
	}
	if n := len(answerOf[Listed[Task]](t, r, operator, "tasks.list", `{"states":["discarded"]}`).Items); n != 5 {
		t.Errorf("%d jobs are left, want 5", n)
	}
	lines := answerOf[Listed[AuditLine]](t, r, boundTo("ann"), "audit.list", `{"operation":"alerts.acknowledge"}`).Items
	if len(lines) != 2 {
		t.Errorf("ann's lines: %+v", lines)
	}
	for _, input := range []string{
		`{"name":"events_backlog"}`, `{"name":"webhook_deliveries_discarded"}`, `{}`, `{"name":"jobs_discarded","limit":1001}`,
		`{"name":"jobs_discarded","endpoint_id":"00000000-0000-4000-8000-000000000000"}`,
		`{"name":"webhook_deliveries_discarded","endpoint_id":"00000000-0000-4000-8000-000000000000","kinds":["work"]}`,
	} {
		refused(t, r, operator, "alerts.acknowledge", input, Invalid)
	}
	refused(t, r, operator, "alerts.acknowledge", `{"name":"webhook_deliveries_discarded","endpoint_id":"x"}`, NotFound)
	refused(t, r, boundTo("ann"), "alerts.acknowledge", `{"name":"jobs_discarded"}`, Forbidden)
}

func TestAcknowledgeDeliveries(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	const endpoint = "00000000-0000-4000-8000-000000000001"
	execSQL(t, r, `insert into postbus.webhook_deliveries
		(endpoint_id, event_id, event_seq, event_type, owner_id, subject, occurred_at, state, expires_at)
		select $1::text::uuid, gen_random_uuid(), n, 'note.changed', 'ann', 's', now(), 'discarded', now() from generate_series(1, 3) as n`, endpoint)
	input := `{"name":"webhook_deliveries_discarded","endpoint_id":"` + endpoint + `","limit":2}`
	var got []Changed
	for range 2 {
		got = append(got, answerOf[acknowledged](t, r, operator, "alerts.acknowledge", input).Changed)
	}
	if diff := cmp.Diff([]Changed{{2, true}, {1, false}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
