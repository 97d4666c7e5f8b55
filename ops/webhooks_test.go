package ops

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newEndpoint(t testing.TB, r *Registry, owner string) string {
	t.Helper()
	return answerOf[CreatedEndpoint](t, r, boundTo(owner), "webhooks.create", `{"url":"http://127.0.0.1:9999/","types":["*"]}`).ID
}

func byID(id string) string { return `{"id":"` + id + `"}` }

// A secret is answered once, and neither it nor a header's value is in any later answer or in the audit log.
func TestEndpointSecretsAreNotKept(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	brought := "whsec_" + strings.Repeat("c2VjcmV0", 5)
	created := answerOf[CreatedEndpoint](t, r, operator, "webhooks.create", `{"owner_id":"ann","url":"http://127.0.0.1:9999/","types":["note.*"],
		"scope":{"subjects":["a*"],"data":{"kind":["private-kind"]}},"headers":{"Authorization":"Bearer hush"},"max_in_flight":2,"asymmetric":true}`)
	if !strings.HasPrefix(created.Secret, "whsec_") || !strings.HasPrefix(created.PublicKey, "whpk_") || created.OwnerID != "ann" || !created.Enabled {
		t.Fatalf("%+v", created)
	}
	rotated := answerOf[RotatedSecret](t, r, operator, "webhooks.rotate_secret", `{"id":"`+created.ID+`","overlap_seconds":60}`)
	told := answerOf[RotatedSecret](t, r, operator, "webhooks.rotate_secret", `{"id":"`+created.ID+`","secret":"`+brought+`","overlap_seconds":0}`)
	if rotated.Secret == created.Secret || told.Secret != brought || told.PreviousEndAt.IsZero() {
		t.Errorf("%+v, %+v", rotated, told)
	}
	refused(t, r, operator, "webhooks.rotate_secret", `{"id":"`+created.ID+`","secret":"hush-no-secret"}`, Invalid)
	refused(t, r, operator, "webhooks.create", `{"owner_id":"ann","url":"http://127.0.0.1:9999/","types":["*"],"headers":{"X":" hush "}}`, Invalid)
	answerOf[Endpoint](t, r, operator, "webhooks.update", `{"id":"`+created.ID+`","headers":{"Authorization":"Basic hush"}}`)
	keys := answerOf[PublicKeys](t, r, operator, "webhooks.public_keys", byID(created.ID))
	if len(keys.Keys) != 1 || keys.Keys[0].Key != created.PublicKey {
		t.Errorf("%+v", keys)
	}
	got := answerOf[Endpoint](t, r, operator, "webhooks.get", byID(created.ID))
	if diff := cmp.Diff([]string{"authorization"}, lower(got.HeaderNames)); diff != "" || got.MaxInFlight != 2 || len(got.Scope.Data["kind"]) != 1 {
		t.Errorf("%+v %s", got, diff)
	}
	shown, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var lines int
	var log string
	if err := r.deps.Pool.QueryRow(t.Context(), `select count(*), string_agg(a::text, ' ') from postbus.audit as a`).Scan(&lines, &log); err != nil || lines != 6 {
		t.Fatalf("%d lines, %v", lines, err)
	}
	for _, secret := range []string{created.Secret, rotated.Secret, brought, "hush"} {
		if strings.Contains(log, secret) || strings.Contains(string(shown), secret) {
			t.Errorf("%q is in %s or %s", secret, log, shown)
		}
	}
}

func lower(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = strings.ToLower(text)
	}
	return out
}

// Endpoints are made for their caller's owner, listed by owner, changed in what is given only, and refused with a reason.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	refused(t, r, operator, "webhooks.create", `{"url":"http://127.0.0.1:9999/","types":["*"]}`, Invalid)
	refused(t, r, boundTo("ann"), "webhooks.create", `{"owner_id":"bob","url":"http://127.0.0.1:9999/","types":["*"]}`, Forbidden)
	refused(t, r, boundTo("ann"), "webhooks.create", `{"url":"http://10.0.0.1/","types":["*"]}`, Invalid)
	refused(t, r, boundTo("ann"), "webhooks.create", `{"url":"http://127.0.0.1:9999/","types":["note.secret"]}`, Invalid)
	refused(t, r, boundTo("ann"), "webhooks.create", `{"url":"http://127.0.0.1:9999/","types":["*"],"scope":{"subject":["x"]}}`, Invalid)
	anns, bobs := newEndpoint(t, r, "ann"), newEndpoint(t, r, "bob")
	page := answerOf[Listed[Endpoint]](t, r, boundTo("ann"), "webhooks.list", `{"enabled":true,"failing":false}`)
	if len(page.Items) != 1 || page.Items[0].ID != anns {
		t.Errorf("%+v", page)
	}
	first := answerOf[Listed[Endpoint]](t, r, operator, "webhooks.list", `{"limit":1}`)
	second := answerOf[Listed[Endpoint]](t, r, operator, "webhooks.list", `{"limit":1,"cursor":"`+first.Next+`"}`)
	if got := []string{first.Items[0].ID, second.Items[0].ID}; second.Next != "" || got[0] == got[1] || !cmp.Equal(min(anns, bobs), got[0]) {
		t.Errorf("%v", got)
	}
	before := page.Items[0]
	after := answerOf[Endpoint](t, r, boundTo("ann"), "webhooks.update", `{"id":"`+anns+`","types":["note.changed"],"rate_per_second":5}`)
	before.Types, before.RatePerSecond, before.UpdatedAt = []string{"note.changed"}, 5, after.UpdatedAt
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	refused(t, r, boundTo("ann"), "webhooks.update", `{"id":"`+anns+`","enabled":false}`, Invalid)
}

// Disabling and deleting say first how many deliveries they would discard, and do nothing until they are confirmed.
func TestEndpointSwitches(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	id := newEndpoint(t, r, "ann")
	ann := boundTo("ann")
	delivery := answerOf[Delivery](t, r, ann, "webhooks.send_test", byID(id))
	if delivery.State != "pending" || delivery.Origin != "test" || delivery.EndpointID != id {
		t.Fatalf("%+v", delivery)
	}
	answer, _ := do(t, r, ann, "webhooks.disable", byID(id))
	if got := answerOf[Endpoint](t, r, ann, "webhooks.get", byID(id)); answer.DryRun == nil || !got.Enabled {
		t.Errorf("a dry run disabled: %+v", got)
	}
	dry, disabled := carryOut[Endpoint](t, r, ann, "webhooks.disable", `{"id":"`+id+`","reason":"moving"}`)
	if dry.Count != 1 || disabled.Enabled || disabled.DisabledReason != "disabled by hand: moving" {
		t.Errorf("%+v, %+v", dry, disabled)
	}
	refused(t, r, ann, "webhooks.send_test", byID(id), Conflict)
	if got := answerOf[Delivery](t, r, ann, "webhooks.delivery", byID(delivery.ID)); got.State != "discarded" {
		t.Errorf("%+v", got)
	}
	if got := answerOf[Endpoint](t, r, ann, "webhooks.enable", byID(id)); !got.Enabled {
		t.Errorf("%+v", got)
	}
	dry, changed := carryOut[ChangedOf](t, r, ann, "webhooks.redeliver_discarded", byID(id))
	if dry.Count != 1 || changed.Changed.Changed != 1 || changed.More {
		t.Errorf("%+v, %+v", dry, changed)
	}
	dry, done := carryOut[DoneOf](t, r, ann, "webhooks.delete", byID(id))
	if dry.Count != 1 || !done.Done.Done {
		t.Errorf("%+v, %+v", dry, done)
	}
	refused(t, r, ann, "webhooks.get", byID(id), NotFound)
	if page := answerOf[Listed[AuditLine]](t, r, ann, "audit.list", `{}`); len(page.Items) != 7 {
		t.Errorf("%d lines: %+v", len(page.Items), page.Items)
	}
}

// Deliveries are found by what they are about; an attempt shows the answer as bytes, and as text only where it is text.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	id, event := newEndpoint(t, r, "ann"), recordFor(t, r, "ann", "7")
	delivery := insertDelivery(t, r, id, event, "discarded", 2)
	insertDelivery(t, r, newEndpoint(t, r, "bob"), recordFor(t, r, "bob", "7"), "discarded", 1)
	ann := boundTo("ann")
	for _, filter := range []string{
		`{}`, `{"event_id":"` + event + `"}`, `{"endpoint_id":"` + id + `","unacknowledged":true}`, `{"subject":"7","event_type":"note.changed"}`,
		`{"states":["discarded","skipped"],"since":"2020-01-01T00:00:00Z","limit":1}`,
	} {
		page := answerOf[Listed[Delivery]](t, r, ann, "webhooks.deliveries", filter)
		if len(page.Items) != 1 || page.Items[0].ID != delivery || page.Next != "" {
			t.Errorf("%s: %+v", filter, page)
		}
	}
	first := answerOf[Listed[Delivery]](t, r, operator, "webhooks.deliveries", `{"limit":1}`)
	if second := answerOf[Listed[Delivery]](t, r, operator, "webhooks.deliveries", `{"limit":1,"cursor":"`+first.Next+`"}`); second.Items[0].ID != delivery {
		t.Errorf("%+v", second)
	}
	refused(t, r, ann, "webhooks.deliveries", `{"event_id":"x"}`, Invalid)
	refused(t, r, ann, "webhooks.deliveries", `{"states":["lost"]}`, Invalid)
	execSQL(t, r, `update postbus.webhook_attempts set response_body = 'gone' where n = 1`)
	page := answerOf[Listed[Attempt]](t, r, ann, "webhooks.attempts", `{"id":"`+delivery+`","limit":1}`)
	if a := page.Items[0]; a.N != 2 || a.Body != "/wA=" || a.BodyText != "" || a.LatencyMS != 1.5 || a.Headers["Server"][0] != "x" || a.Status != 500 {
		t.Errorf("%+v", a)
	}
	page = answerOf[Listed[Attempt]](t, r, ann, "webhooks.attempts", `{"id":"`+delivery+`","cursor":"`+page.Next+`"}`)
	if a := page.Items[0]; a.N != 1 || a.Body != "Z29uZQ==" || a.BodyText != "gone" || page.Next != "" {
		t.Errorf("%+v", a)
	}
}

// A delivery is acknowledged, sent again and given up, each only from where that can be meant.
func TestDeliveryActs(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	id, event := newEndpoint(t, r, "ann"), recordFor(t, r, "ann", "7")
	delivery, ann := insertDelivery(t, r, id, event, "discarded", 2), boundTo("ann")
	if got := answerOf[Delivery](t, r, ann, "webhooks.acknowledge", byID(delivery)); got.AcknowledgedAt == nil {
		t.Errorf("%+v", got)
	}
	if got := answerOf[Delivery](t, r, ann, "webhooks.redeliver", byID(delivery)); got.State != "pending" || got.NextAttemptAt == nil {
		t.Errorf("%+v", got)
	}
	refused(t, r, ann, "webhooks.acknowledge", byID(delivery), Conflict)
	dry, cancelled := carryOut[Delivery](t, r, ann, "webhooks.cancel", byID(delivery))
	if dry.Count != 1 || cancelled.State != "discarded" || cancelled.Reason != "cancelled by hand" {
		t.Errorf("%+v, %+v", dry, cancelled)
	}
	if answer, told := do(t, r, ann, "webhooks.cancel", byID(delivery)); told != nil || answer.DryRun.Count != 0 {
		t.Errorf("%+v, %v", answer, told)
	}
	execSQL(t, r, `update postbus.webhook_deliveries set acknowledged_at = null`)
	carryOut[DoneOf](t, r, ann, "webhooks.delete", byID(id))
	refused(t, r, boundTo("bob"), "webhooks.acknowledge_all", byID(id), NotFound)
	if got := answerOf[ChangedOf](t, r, ann, "webhooks.acknowledge_all", `{"id":"`+id+`","limit":1}`); got.Changed.Changed != 1 || !got.More {
		t.Errorf("of a deleted endpoint: %+v", got)
	}
	refused(t, r, ann, "webhooks.redeliver", byID(delivery), Conflict)
}

// Recovery and replay answer a replay of the endpoint's owner's; the account is one owner's for a caller who is bound to one.
func TestWebhookHistory(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	id, event := newEndpoint(t, r, "ann"), recordFor(t, r, "ann", "7")
	insertDelivery(t, r, id, event, "discarded", 1)
	execSQL(t, r, `update postbus.events set fanned_out_at = now(), fanout = '{"webhook.fanout": "1"}'`)
	execSQL(t, r, `insert into postbus.webhook_fanouts (event_id, owner_id, occurred_at, matched) select id, owner_id, occurred_at, 1 from postbus.events`)
	ann := boundTo("ann")
	recovery := answerOf[Replay](t, r, ann, "webhooks.recover", `{"id":"`+id+`","since":"2020-01-01T00:00:00Z"}`)
	replay := answerOf[Replay](t, r, ann, "webhooks.replay", `{"id":"`+id+`","types":["note.*"],"until":"2999-01-01T00:00:00Z"}`)
	if recovery.Target != "endpoint" || recovery.Name != id || recovery.OwnerID != "ann" || string(recovery.Options) != `{"mode":"recover"}` {
		t.Errorf("%+v", recovery)
	}
	if string(replay.Options) != `{"mode":"replay"}` || replay.Types[0] != "note.*" || replay.Until.Year() != 2999 {
		t.Errorf("%+v", replay)
	}
	refused(t, r, ann, "webhooks.replay", `{"id":"`+id+`","types":["["]}`, Invalid)
	want := WebhookAccount{
		Events: 1, FannedOut: 1, Matched: 1, Fanout: Outcomes{Discarded: 1, DiscardReasons: map[string]int64{"no answer": 1}},
	}
	if diff := cmp.Diff(want, answerOf[WebhookAccount](t, r, ann, "webhooks.account", `{"since":"2020-01-01T00:00:00Z"}`)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(WebhookAccount{}, answerOf[WebhookAccount](t, r, boundTo("bob"), "webhooks.account", `{}`)); diff != "" {
		t.Error(diff)
	}
	refused(t, r, ann, "webhooks.account", `{"owner_id":"bob"}`, Forbidden)
}

// Without webhooks in the process each of their operations says so, and events are shown as they are.
func TestWithoutWebhooks(t *testing.T) {
	t.Parallel()
	full, _ := fixture(t)
	deps := full.deps
	deps.Webhooks = nil
	r, err := New(deps)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range r.All() {
		if strings.HasPrefix(o.Name, "webhooks.") {
			told := refused(t, r, administrator, o.Name, string(minimal(o.Input)), Conflict)
			if !strings.Contains(told.Message, "not turned on") {
				t.Errorf("%s: %v", o.Name, told)
			}
		}
	}
	answerOf[EventTree](t, r, operator, "events.get", byID(recordFor(t, r, "ann", "7")))
}
