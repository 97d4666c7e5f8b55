package ops

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/webhooks"
)

var (
	recorder    = Identity{Name: "token:rec", Scopes: []Access{Record}}
	annRecorder = Identity{Name: "token:ann", Scopes: []Access{Record}, Owner: "ann"}
)

func recordFor(t testing.TB, r *Registry, owner, subject string) string {
	t.Helper()
	return answerOf[Recorded](t, r, recorder, "events.record",
		fmt.Sprintf(`{"type":"note.changed","owner_id":%q,"subject":%q,"data":{"n": 1.0}}`, owner, subject)).ID
}

// Under an id of the caller's the same content is recorded once, whoever lost the answer; other content is a conflict.
func TestRecordTwiceIsOnce(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	const id = "0b5e8d1a-4f0a-4a53-9a83-0d9f6f0f1a11"
	input := `{"id":"` + id + `","type":"note.changed","subject":"7","data":{"n": 1.0}}`
	for _, fresh := range []bool{true, false} {
		if got := answerOf[Recorded](t, r, annRecorder, "events.record", input); got.ID != id || got.Fresh != fresh {
			t.Fatalf("%+v, want fresh %t", got, fresh)
		}
	}
	refused(t, r, annRecorder, "events.record", strings.Replace(input, "1.0", "2", 1), Conflict)
	event := answerOf[EventTree](t, r, operator, "events.get", `{"id":"`+id+`"}`)
	if string(event.Data) != `{"n": 1.0}` || event.OwnerID != "ann" || event.Status != "pending" {
		t.Errorf("%+v %s: not as it was recorded", event, event.Data)
	}
}

// A token for recording records for its owner only and calls nothing else; what cannot be recorded is refused with the field.
func TestRecordKeepsToTheOwner(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	refused(t, r, annRecorder, "events.record", `{"type":"note.changed","owner_id":"bob","subject":"7"}`, Forbidden)
	refused(t, r, annRecorder, "events.list", `{}`, Forbidden)
	refused(t, r, operator, "events.record", `{"type":"note.changed","owner_id":"bob","subject":"7"}`, Forbidden)
	for _, input := range []string{
		`{"type":"note.changed","subject":"7"}`, `{"type":"note.unheard","owner_id":"a","subject":"7"}`,
		`{"type":"note.changed","owner_id":"a","subject":""}`, `{"id":"7","type":"note.changed","owner_id":"a","subject":"7"}`,
		`{"type":"note.changed","owner_id":"a","subject":"7","data":[1]}`, `{"type":"note.changed","owner_id":"a","subject":"7","data":"x"}`,
		`{"type":"note.changed","owner_id":"a","subject":"7","data":{"x":"\ud800"}}`,
		`{"type":"note.changed","owner_id":"a","subject":"7","data":{"x":"` + strings.Repeat("x", 300<<10) + `"}}`,
	} {
		refused(t, r, recorder, "events.record", input, Invalid)
	}
	told := refused(t, r, recorder, "events.record", `{"type":"note.changed","owner_id":"a","subject":"7","data":{"x":1e400000}}`, Invalid)
	if strings.Contains(told.Error(), "SQLSTATE") {
		t.Errorf("%v shows the database", told)
	}
	if n := len(answerOf[Listed[Event]](t, r, operator, "events.list", `{}`).Items); n != 0 {
		t.Errorf("%d events were recorded", n)
	}
}

// A list has what the filter says, page by page, without data, and of an owner's caller that owner's only.
func TestEventList(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	var want []string
	for i := range 3 {
		recordFor(t, r, "bob", "b")
		want = append([]string{recordFor(t, r, "ann", fmt.Sprint(i))}, want...)
	}
	var got []string
	for next := ""; ; {
		page := answerOf[Listed[Event]](t, r, boundTo("ann"), "events.list", `{"limit":2,"cursor":"`+next+`","since":"2020-01-01T00:00:00Z","status":"pending"}`)
		for _, e := range page.Items {
			got = append(got, e.ID)
		}
		if raw, err := json.Marshal(page); err != nil || strings.Contains(string(raw), `"data"`) {
			t.Errorf("%s, %v", raw, err)
		}
		if next = page.Next; next == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	refused(t, r, operator, "events.list", `{"cursor":"eA"}`, Invalid)
	refused(t, r, operator, "events.list", `{"status":"lost"}`, Invalid)
	refused(t, r, boundTo("ann"), "events.list", `{"owner_id":"bob"}`, Forbidden)
	if n := len(answerOf[Listed[Event]](t, r, operator, "events.list", `{"owner_id":"bob","types":["note.changed"],"subject":"b"}`).Items); n != 3 {
		t.Errorf("%d of bob's, want 3", n)
	}
}

// insertDelivery makes a delivery of the event as it would stand, and answers its id.
func insertDelivery(t testing.TB, r *Registry, endpoint, event, state string, tries int) string {
	t.Helper()
	var id string
	err := r.deps.Pool.QueryRow(t.Context(), `insert into postbus.webhook_deliveries (endpoint_id, event_id, event_seq, event_type, owner_id,
		subject, occurred_at, state, reason, next_attempt_at, expires_at, tries)
		select $1, id, seq, type, owner_id, subject, occurred_at, $3, 'no answer', case when $3 = 'pending' then now() end, now() + interval '1 day', $4
		from postbus.events where id = $2 returning id::text`, endpoint, event, state, tries).Scan(&id)
	if err != nil {
		t.Fatal(err)
	}
	execSQL(t, r, `insert into postbus.webhook_attempts (delivery_id, n, endpoint_id, attempted_at, url, spent, latency_ms, status, error, response_headers, response_body)
		select $1::text::bigint, n, $2, now(), 'http://127.0.0.1:9999/', true, 1.5, 500, 'answered 500', '{"Server":["x"]}', '\xff00'::bytea
		from generate_series(1, $3::integer) as n`, id, endpoint, tries)
	return id
}

// One event shows its jobs, its deliveries and their attempts; where a level has more than it shows, it says so.
func TestEventTree(t *testing.T) {
	t.Parallel()
	r, runtime := fixture(t)
	event := recordFor(t, r, "ann", "7")
	job, err := runtime.Enqueue(t.Context(), "work", struct{}{}, jobs.EnqueueOpts{Owner: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	endpoint := newEndpoint(t, r, "ann")
	delivery := insertDelivery(t, r, endpoint, event, "discarded", levelCap+1)
	execSQL(t, r, `update postbus.events set fanned_out_at = now(), fanout = jsonb_build_object('webhook.fanout', $2::text, 'note.gone', '99999999') where id = $1`,
		event, string(job))
	tree := answerOf[EventTree](t, r, boundTo("ann"), "events.get", `{"id":"`+event+`"}`)
	if len(tree.Fanout) != 2 || tree.Status != "fanned" {
		t.Fatalf("%+v", tree)
	}
	if gone := tree.Fanout[0]; gone.Subscription != "note.gone" || gone.Job.State != "gone" {
		t.Errorf("%+v", gone)
	}
	hooks := tree.Fanout[1]
	want := &TreeJob{ID: string(job), Kind: "work", State: "pending"}
	if diff := cmp.Diff(want, hooks.Job); diff != "" {
		t.Error(diff)
	}
	if len(hooks.Deliveries) != 1 || hooks.More {
		t.Fatalf("%+v", hooks)
	}
	d := hooks.Deliveries[0]
	if d.ID != delivery || d.EndpointID != endpoint || d.State != "discarded" || d.Reason != "no answer" || len(d.Attempts) != levelCap || !d.More {
		t.Errorf("%+v", d)
	}
	if a := d.Attempts[0]; a.N != levelCap+1 || a.Status != 500 || a.Error != "answered 500" || a.At.IsZero() {
		t.Errorf("%+v", a)
	}
	execSQL(t, r, `insert into postbus.webhook_deliveries (endpoint_id, event_id, event_seq, event_type, owner_id, subject, occurred_at, state, expires_at)
		select gen_random_uuid(), event_id, event_seq, event_type, owner_id, subject, occurred_at, 'skipped', now()
		from postbus.webhook_deliveries, generate_series(1, $1)`, levelCap)
	tree = answerOf[EventTree](t, r, operator, "events.get", `{"id":"`+event+`"}`)
	if hooks := tree.Fanout[1]; len(hooks.Deliveries) != levelCap || !hooks.More {
		t.Errorf("%d deliveries, more %t", len(hooks.Deliveries), hooks.More)
	}
	sent := answerOf[Delivery](t, r, operator, "webhooks.send_test", `{"id":"`+endpoint+`"}`)
	tree = answerOf[EventTree](t, r, operator, "events.get", `{"id":"`+sent.EventID+`"}`)
	if len(tree.Fanout) != 1 || tree.Fanout[0].Job != nil || tree.Fanout[0].Deliveries[0].ID != sent.ID || tree.Fanout[0].Deliveries[0].Origin != "test" {
		t.Errorf("a test's event: %+v", tree.Fanout)
	}
}

// What is another's cannot be told from what is not there.
func TestAnothersIsNotFound(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	event, endpoint := recordFor(t, r, "bob", "7"), newEndpoint(t, r, "bob")
	delivery := insertDelivery(t, r, endpoint, event, "discarded", 1)
	replay := answerOf[Replay](t, r, operator, "webhooks.recover", `{"id":"`+endpoint+`"}`).ID
	const none = "0b5e8d1a-4f0a-4a53-9a83-0d9f6f0f1a11"
	for _, c := range []struct {
		id, none string
		names    []string
	}{
		{event, none, []string{"events.get", "events.requeue"}},
		{replay, none, []string{"events.get_replay", "events.cancel_replay"}},
		{endpoint, none, []string{
			"webhooks.get", "webhooks.update", "webhooks.enable", "webhooks.disable", "webhooks.delete", "webhooks.rotate_secret", "webhooks.public_keys",
			"webhooks.send_test", "webhooks.redeliver_discarded", "webhooks.acknowledge_all", "webhooks.recover", "webhooks.replay",
		}},
		{delivery, "99999999", []string{"webhooks.delivery", "webhooks.attempts", "webhooks.redeliver", "webhooks.acknowledge", "webhooks.cancel"}},
	} {
		for _, name := range c.names {
			theirs := refused(t, r, boundTo("ann"), name, `{"id":"`+c.id+`"}`, NotFound)
			nobodys := refused(t, r, boundTo("ann"), name, `{"id":"`+c.none+`"}`, NotFound)
			if strings.ReplaceAll(theirs.Error(), c.id, c.none) != nobodys.Error() {
				t.Errorf("%s tells %q from %q", name, theirs, nobodys)
			}
			refused(t, r, boundTo("ann"), name, `{"id":"no id"}`, NotFound)
		}
	}
}

// Requeueing needs a poisoned event, and is on record as its owner's.
func TestRequeueEvent(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	id := recordFor(t, r, "ann", "7")
	refused(t, r, operator, "events.requeue", `{"id":"`+id+`"}`, Conflict)
	execSQL(t, r, `update postbus.events set poisoned_at = now(), attempts = 5, last_error = 'boom'`)
	event := answerOf[Event](t, r, boundTo("ann"), "events.requeue", `{"id":"`+id+`"}`)
	if event.Status != "pending" || event.Failures != 0 || event.LastError != "boom" {
		t.Errorf("%+v", event)
	}
	if page := answerOf[Listed[AuditLine]](t, r, boundTo("ann"), "audit.list", `{"operation":"events.requeue"}`); len(page.Items) != 2 { // the refused one too
		t.Errorf("on record: %+v", page.Items)
	}
}

// Types are listed with who declares them; by hand one is declared as in SQL, never over an application's.
func TestEventTypes(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	declared := answerOf[EventType](t, r, administrator, "events.declare_type", `{"name":"note.moved","description":"It moved","exposure":"webhook"}`)
	if diff := cmp.Diff(EventType{Name: "note.moved", Description: "It moved", Exposure: "webhook"}, declared); diff != "" {
		t.Error(diff)
	}
	refused(t, r, administrator, "events.declare_type", `{"name":"note.changed"}`, Conflict)
	refused(t, r, administrator, "events.declare_type", `{"name":"Note moved"}`, Invalid)
	refused(t, r, operator, "events.declare_type", `{"name":"note.moved"}`, Forbidden)
	var got []string
	for next := ""; ; {
		page := answerOf[Listed[EventType]](t, r, operator, "events.types", `{"limit":2,"cursor":"`+next+`"}`)
		for _, typ := range page.Items {
			got = append(got, typ.Name+":"+typ.App+":"+typ.Exposure)
		}
		if next = page.Next; next == "" {
			break
		}
	}
	want := []string{"mail.test::internal", "note.changed:app:webhook", "note.moved::webhook", "note.secret:app:internal", "postbus.alert.cleared::webhook", "postbus.alert.raised::webhook", "webhook.endpoint.disabled::internal", "webhook.test::internal"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	exposed := answerOf[Listed[EventType]](t, r, boundTo("ann"), "webhooks.event_types", `{}`)
	if len(exposed.Items) != 4 || exposed.Items[1].Name != "note.moved" {
		t.Errorf("%+v", exposed)
	}
	subs := answerOf[Listed[EventSubscription]](t, r, operator, "events.subscriptions", `{}`)
	if len(subs.Items) != 1 || subs.Items[0].Name != webhooks.Fanout || !subs.Items[0].Shared || subs.Items[0].Effect != "webhook" {
		t.Errorf("%+v", subs)
	}
	refused(t, r, boundTo("ann"), "events.subscriptions", `{}`, Forbidden)
}

// A caller who is bound to an owner replays that owner's events only; cancelling says first what it ends.
func TestReplays(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	input := `{"name":"webhook.fanout","types":["note.*"],"missed_only":true,"since":"2020-01-01T00:00:00Z"}`
	all := answerOf[Replay](t, r, operator, "events.replay", input)
	anns := answerOf[Replay](t, r, boundTo("ann"), "events.replay", input)
	if all.OwnerID != "" || anns.OwnerID != "ann" || anns.State != "running" || string(anns.Options) != `{"missed_only":true}` || anns.JobID == "" {
		t.Errorf("%+v\n%+v", all, anns)
	}
	refused(t, r, operator, "events.replay", `{"name":"nobody"}`, Invalid)
	refused(t, r, boundTo("ann"), "events.replay", `{"name":"webhook.fanout","owner_id":"bob"}`, Forbidden)
	refused(t, r, boundTo("ann"), "events.get_replay", `{"id":"`+all.ID+`"}`, NotFound)
	mine := answerOf[Listed[Replay]](t, r, boundTo("ann"), "events.replays", `{"target":"subscription","state":"running"}`)
	if len(mine.Items) != 1 || mine.Items[0].ID != anns.ID {
		t.Errorf("%+v", mine)
	}
	first := answerOf[Listed[Replay]](t, r, operator, "events.replays", `{"limit":1}`)
	second := answerOf[Listed[Replay]](t, r, operator, "events.replays", `{"limit":1,"cursor":"`+first.Next+`"}`)
	if first.Items[0].ID != anns.ID || len(second.Items) != 1 || second.Items[0].ID != all.ID || second.Next != "" {
		t.Errorf("%+v\n%+v", first, second)
	}
	dry, ended := carryOut[Replay](t, r, boundTo("ann"), "events.cancel_replay", `{"id":"`+anns.ID+`"}`)
	if dry.Count != 1 || ended.State != "cancelled" {
		t.Errorf("%+v, %+v", dry, ended)
	}
	if got := answerOf[Replay](t, r, boundTo("ann"), "events.get_replay", `{"id":"`+anns.ID+`"}`); got.State != "cancelled" || got.FinishedAt == nil {
		t.Errorf("%+v", got)
	}
}
