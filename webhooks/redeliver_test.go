package webhooks

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func (o *office) redeliver(d Delivery) Delivery {
	o.t.Helper()
	d, err := o.Redeliver(o.t.Context(), d.ID)
	if err != nil {
		o.t.Fatal(err)
	}
	return d
}

func TestRedeliverBeginsAnew(t *testing.T) {
	t.Parallel()
	for _, state := range []DeliveryState{Delivered, Discarded, Skipped} {
		o := newOffice(t, nil)
		o.endpoint()
		d := o.delivery("a")
		o.settleAs(d, state, "why")
		o.exec(`update postbus.webhook_deliveries set acknowledged_at = now(), expires_at = now() - interval '1 hour'`)
		o.exec(`delete from postbus.webhook_slots`)
		d = o.redeliver(d)
		if d.State != Pending || d.Reason != "" || d.Attempts != 0 || d.Tries != 3 || d.SettledAt != nil || d.AcknowledgedAt != nil {
			t.Errorf("%s: %+v", state, d)
		}
		if left := time.Until(d.ExpiresAt); left < 143*time.Hour || d.NextAttemptAt.After(time.Now().Add(time.Second)) {
			t.Errorf("%s: due %s, expires in %s", state, d.NextAttemptAt, left)
		}
		if n := o.count(`select count(*) from postbus.webhook_slots where job_id is not null`); n != 1 {
			t.Errorf("%s: %d lanes, want 1", state, n)
		}
	}
}

func TestRedeliverWhatIsPending(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.endpoint()
	waiting, flying := o.delivery("a"), o.delivery("b")
	o.exec(`update postbus.webhook_deliveries set attempts = 2, next_attempt_at = now() + interval '1 hour'`)
	o.putInFlight(flying, 1, "1 minute")
	if d := o.redeliver(waiting); d.Attempts != 2 || d.NextAttemptAt.After(time.Now().Add(time.Second)) {
		t.Errorf("what waited: %d attempts, due %s; want 2 and now", d.Attempts, d.NextAttemptAt)
	}
	if d := o.redeliver(flying); !d.NextAttemptAt.After(time.Now().Add(time.Minute)) {
		t.Error("what is in flight was changed")
	}
}

func TestRedeliverRefusals(t *testing.T) {
	t.Parallel()
	for says, spoil := range map[string]func(o *office, d Delivery){
		"is disabled (x): enable it first": func(o *office, d Delivery) {
			o.exec(`update postbus.webhook_endpoints set enabled = false, disabled_reason = 'x'`)
		},
		"is deleted: replay the event": func(o *office, d Delivery) { o.exec(`delete from postbus.webhook_endpoints`) },
		"is pruned":                    func(o *office, d Delivery) { o.exec(`delete from postbus.events`) },
		"is internal by now":           func(o *office, d Delivery) { o.exec(`update postbus.event_types set exposure = 'internal'`) },
	} {
		o := newOffice(t, nil)
		o.endpoint()
		d := o.delivery("a")
		o.settleAs(d, Discarded, "why")
		spoil(o, d)
		if _, err := o.Redeliver(t.Context(), d.ID); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want ErrConflict that says %q", err, says)
		}
		if n := o.count(`select count(*) from postbus.webhook_deliveries where state = 'pending'`); n != 0 {
			t.Errorf("%q: it is pending all the same", says)
		}
	}
	if _, err := newOffice(t, nil).Redeliver(t.Context(), "1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v, want ErrNotFound", err)
	}
}

// In an ordered endpoint what is sent again takes its place in the line.
func TestRedeliverTakesItsPlace(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.endpoint(ordered).ID
	first, second, other := o.delivery("a"), o.delivery("a"), o.delivery("b")
	if front, behind := o.places(id); front != at("a", first)+" "+at("b", other) || behind != at("a", second) {
		t.Fatalf("before: %q and %q", front, behind)
	}
	o.settleAs(first, Discarded, "why")
	if err := o.lineUp(t.Context(), nil, id, nil); err != nil { // none: nothing to do
		t.Fatal(err)
	}
	o.redeliver(first)
	front, behind := o.places(id)
	if diff := cmp.Diff([]string{at("a", first) + " " + at("b", other), at("a", second)}, []string{front, behind}); diff != "" {
		t.Error(diff)
	}
	if err := o.Cancel(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	front, behind = o.places(id)
	if diff := cmp.Diff([]string{at("a", second) + " " + at("b", other), ""}, []string{front, behind}); diff != "" {
		t.Errorf("after a cancellation: %s", diff)
	}
}

func TestRedeliverDiscarded(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.endpoint(ordered).ID
	var all []Delivery
	for i := range 7 {
		all = append(all, o.delivery(fmt.Sprint("s", i%2)))
	}
	for _, d := range all {
		o.settleAs(d, Discarded, "why")
	}
	o.exec(`delete from postbus.events where id = $1`, all[0].EventID)                                     // nothing to send
	o.exec(`update postbus.webhook_deliveries set acknowledged_at = now() where id = $1`, all[1].ID)       // settled by a person
	o.exec(`update postbus.webhook_deliveries set event_type = $2 where id = $1`, all[2].ID, internalType) // must not leave
	o.exec(`update postbus.webhook_deliveries set state = 'delivered' where id = $1`, all[3].ID)           // was sent
	for _, want := range []int{2, 1, 0} {
		if n, err := o.RedeliverDiscarded(t.Context(), id, 2); n != want || err != nil {
			t.Errorf("%d, %v; want %d", n, err, want)
		}
	}
	front, behind := o.places(id)
	want := []string{at("s0", all[4]) + " " + at("s1", all[5]), at("s0", all[6])}
	if diff := cmp.Diff(want, []string{front, behind}); diff != "" {
		t.Error(diff)
	}
	o.update(id, EndpointPatch{Enabled: ptr(false)})
	if _, err := o.RedeliverDiscarded(t.Context(), id, 1); !errors.Is(err, ErrConflict) {
		t.Errorf("disabled: %v, want ErrConflict", err)
	}
	if _, err := o.RedeliverDiscarded(t.Context(), id, maxBulk+1); !errors.Is(err, ErrInvalid) {
		t.Errorf("%v, want ErrInvalid", err)
	}
}

// 50 people redeliver what 50 others cancel: each act is whole, and the lines stand.
func TestRedeliverAndCancelInParallel(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.endpoint(ordered).ID
	var all []Delivery
	for range 5 {
		all = append(all, o.delivery("a"))
	}
	todo := make(chan Delivery, 50)
	for i := range cap(todo) {
		todo <- all[i%len(all)]
	}
	inParallel(cap(todo), func() {
		d := <-todo
		if _, err := o.Redeliver(t.Context(), d.ID); err != nil {
			t.Error(err)
		}
		if err := o.Cancel(t.Context(), d.ID); err != nil && !errors.Is(err, ErrConflict) {
			t.Error(err)
		}
	})
	for _, d := range all {
		o.redeliver(d)
	}
	front, behind := o.places(id)
	if front != at("a", all[0]) || strings.Count(behind, ":") != 4 {
		t.Errorf("front %q, behind %q", front, behind)
	}
}
