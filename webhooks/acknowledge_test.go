package webhooks

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postbus/postbus/events"
)

func (o *office) alerts() map[string]events.Alert {
	o.t.Helper()
	alerts, err := o.Alerts(o.t.Context())
	if err != nil {
		o.t.Fatal(err)
	}
	byName := map[string]events.Alert{}
	for _, a := range alerts {
		if a.Message == "" || a.WayOut == "" {
			o.t.Errorf("%+v", a)
		}
		byName[a.Name] = a
	}
	return byName
}

func TestAcknowledge(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.endpoint().ID
	d := o.delivery("a")
	if err := o.Acknowledge(t.Context(), d.ID); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "cancel") {
		t.Errorf("a pending one: %v, want ErrConflict and the way out", err)
	}
	o.settleAs(d, Discarded, "why")
	if a := o.alerts()[AlertDiscarded]; a.Count != 1 || !slices.Equal(a.About, []string{id}) {
		t.Errorf("%+v", a)
	}
	for range 2 {
		if err := o.Acknowledge(t.Context(), d.ID); err != nil {
			t.Fatal(err)
		}
	}
	if d := o.again(d); d.AcknowledgedAt == nil || len(o.alerts()) != 0 {
		t.Errorf("%+v, %v", d, o.alerts())
	}
}

func TestAcknowledgeAll(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.endpoint().ID
	for range 3 {
		o.settleAs(o.delivery("a"), Discarded, "why")
	}
	o.exec(`delete from postbus.webhook_endpoints`) // also of a deleted endpoint
	for _, want := range []int{2, 1, 0} {
		if n, err := o.AcknowledgeAll(t.Context(), id, 2); n != want || err != nil {
			t.Errorf("%d, %v; want %d", n, err, want)
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.endpoint()
	d, flying := o.delivery("a"), o.delivery("b")
	if err := o.Cancel(t.Context(), d.ID); err != nil {
		t.Fatal(err)
	}
	if d := o.again(d); d.State != Discarded || d.Reason != "cancelled by hand" || d.AcknowledgedAt == nil || len(o.alerts()) != 0 {
		t.Errorf("%+v", d)
	}
	if err := o.Cancel(t.Context(), d.ID); !errors.Is(err, ErrConflict) {
		t.Errorf("twice: %v, want ErrConflict", err)
	}
	o.putInFlight(flying, 1, "1 minute")
	if err := o.Cancel(t.Context(), flying.ID); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "under way") {
		t.Errorf("in flight: %v, want ErrConflict", err)
	}
}

// A test reaches the named endpoint, and no other, whatever its types and scope are.
func TestSendTest(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.endpoint(ordered, func(s *EndpointSpec) { s.Types = []string{"other.*"} }).ID
	o.endpoint()
	d, err := o.SendTest(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if d.EndpointID != id || d.Subject != id || d.EventType != "webhook.test" || d.Origin != FromTest || d.State != Pending || d.Behind {
		t.Errorf("%+v", d)
	}
	event, err := o.bus.Get(t.Context(), d.EventID)
	if err != nil || event.OwnerID != owner || string(event.Data) != `{"test":true,"endpoint_id":"`+id+`"}` || event.Seq != int64(o.count(`select event_seq from postbus.webhook_deliveries`)) {
		t.Errorf("%+v, %v", event, err)
	}
	if n := o.count(`select count(*) from postbus.webhook_slots where job_id is not null`); n != 1 {
		t.Errorf("%d lanes, want 1", n)
	}
	if second, err := o.SendTest(t.Context(), id); err != nil || !second.Behind {
		t.Errorf("a second one goes beside the first: %+v, %v", second, err)
	}
	o.settleAs(d, Discarded, "why")
	if d := o.redeliver(d); d.State != Pending {
		t.Error("a test cannot be redelivered")
	}
	o.update(id, EndpointPatch{Enabled: ptr(false)})
	if _, err := o.SendTest(t.Context(), id); !errors.Is(err, ErrConflict) {
		t.Errorf("disabled: %v, want ErrConflict", err)
	}
	if n := o.count(`select count(*) from postbus.events`); n != 2 {
		t.Errorf("%d events, want 2", n)
	}
}

func TestEventTypesAreTheExposed(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	types, err := o.EventTypes(t.Context())
	types = slices.DeleteFunc(types, func(t events.Type) bool { return strings.HasPrefix(t.Name, "postbus.alert.") }) // the house's own
	if err != nil || len(types) != 1 || types[0].Name != exposedType {
		t.Errorf("%v, %v", types, err)
	}
}

func TestAlertsOfEndpoints(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	byHand, failed, fresh, bySystem := o.endpoint().ID, o.endpoint().ID, o.endpoint().ID, o.endpoint().ID
	o.update(byHand, EndpointPatch{Enabled: ptr(false)})
	o.exec(`update postbus.webhook_endpoints set failing_since = now() - interval '2 hours' where id = $1`, failed)
	o.exec(`update postbus.webhook_endpoints set failing_since = now() - interval '2 minutes' where id = $1`, fresh)
	o.exec(`update postbus.webhook_endpoints set enabled = false, disabled_at = now(), failing_since = now() - interval '6 days',
		disabled_reason = 'no attempt succeeded for 120h0m0s' where id = $1`, bySystem)
	alerts := o.alerts()
	if a := alerts[AlertDisabled]; a.Count != 1 || !slices.Equal(a.About, []string{bySystem}) {
		t.Errorf("%+v", a)
	}
	if a := alerts[AlertFailing]; a.Count != 1 || !slices.Equal(a.About, []string{failed}) {
		t.Errorf("%+v", a)
	}
	if len(alerts) != 2 {
		t.Errorf("%v", alerts)
	}
}

// About names at most 20 endpoints.
func TestAlertsAreBounded(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	for range 25 {
		o.endpoint()
	}
	_, ds := o.fan("a")
	for _, d := range ds {
		o.settleAs(d, Discarded, "why")
	}
	began := time.Now()
	if a := o.alerts()[AlertDiscarded]; a.Count != 25 || len(a.About) != 20 || len(slices.Compact(slices.Clone(a.About))) != 20 {
		t.Errorf("%+v", a)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
}
