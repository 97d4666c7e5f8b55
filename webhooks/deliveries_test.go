package webhooks

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func ids(ds []Delivery) []string {
	var out []string
	for _, d := range ds {
		out = append(out, d.ID)
	}
	return out
}

func TestDeliveriesFilters(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	first, second := o.endpoint().ID, o.endpoint().ID
	event, ds := o.fan("a")
	other, more := o.fan("b")
	gone := o.deliveries(DeliveryFilter{EventID: other.ID, EndpointID: second})[0]
	o.settleAs(gone, Discarded, "410 Gone")
	all := append(slices.Clone(more), ds...)
	at := func(endpoint string, ds []Delivery) []string {
		return ids(slices.DeleteFunc(slices.Clone(ds), func(d Delivery) bool { return d.EndpointID != endpoint }))
	}
	for name, c := range map[string]struct {
		f    DeliveryFilter
		want []string
	}{
		"none":           {DeliveryFilter{}, ids(all)},
		"endpoint":       {DeliveryFilter{EndpointID: first}, at(first, all)},
		"event":          {DeliveryFilter{EventID: event.ID}, ids(ds)},
		"owner":          {DeliveryFilter{OwnerID: "nobody"}, nil},
		"type":           {DeliveryFilter{EventType: exposedType}, ids(all)},
		"another type":   {DeliveryFilter{EventType: internalType}, nil},
		"subject":        {DeliveryFilter{Subject: "b"}, ids(more)},
		"states":         {DeliveryFilter{States: []DeliveryState{Discarded, Skipped}}, []string{gone.ID}},
		"unacknowledged": {DeliveryFilter{Unacknowledged: true}, []string{gone.ID}},
		"since":          {DeliveryFilter{Since: other.OccurredAt}, ids(more)},
		"until":          {DeliveryFilter{Until: other.OccurredAt}, ids(ds)},
	} {
		if diff := cmp.Diff(c.want, ids(o.deliveries(c.f))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestDeliveriesPages(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.endpoint()
	var want, got []string
	for range 5 {
		want = append([]string{o.delivery("a").ID}, want...)
	}
	f := DeliveryFilter{Limit: 2}
	for pages := 0; pages == 0 || f.Cursor != ""; pages++ {
		page, err := o.Deliveries(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		got, f.Cursor = append(got, ids(page.Deliveries)...), page.Next
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, f := range []DeliveryFilter{
		{Limit: 201}, {EndpointID: "x"}, {EventID: "x"}, {States: []DeliveryState{"lost"}}, {Cursor: "?"},
		{Cursor: cursorOf("delivery", "-1")}, {Cursor: cursorOf("endpoint", "1")},
	} {
		if _, err := o.Deliveries(t.Context(), f); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", f, err)
		}
	}
	for _, id := range []string{"", "0", "-1", "+1", "x", "99999", "99999999999999999999"} {
		if _, err := o.Delivery(t.Context(), id); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v, want ErrNotFound", id, err)
		}
	}
}

func TestAttemptsPages(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.endpoint()
	d := o.delivery("a")
	o.exec(`insert into postbus.webhook_attempts (delivery_id, n, endpoint_id, attempted_at, url, spent, status, latency_ms, error,
		response_headers, response_body, truncated)
		select $1, n, $2, now(), 'https://example.com/hook', n <> 2, nullif(n, 1) + 500, 1.5, 'e', '{"A":["b"]}', '\x1f8b00', true
		from generate_series(1, 3) as n`, d.ID, d.EndpointID)
	page, err := o.Attempts(t.Context(), AttemptFilter{DeliveryID: d.ID, Limit: 2})
	if err != nil || len(page.Attempts) != 2 || page.Next == "" {
		t.Fatalf("%+v, %v", page, err)
	}
	want := Attempt{
		DeliveryID: d.ID, N: 2, At: page.Attempts[1].At, URL: "https://example.com/hook", Status: 502, Latency: 1500 * time.Microsecond,
		Error: "e", Headers: map[string][]string{"A": {"b"}}, Body: []byte{0x1f, 0x8b, 0}, Truncated: true,
	}
	if diff := cmp.Diff(want, page.Attempts[1]); diff != "" {
		t.Error(diff)
	}
	last, err := o.Attempts(t.Context(), AttemptFilter{DeliveryID: d.ID, Cursor: page.Next})
	if err != nil || len(last.Attempts) != 1 || last.Attempts[0].N != 1 || last.Attempts[0].Status != 0 || !last.Attempts[0].Spent || last.Next != "" {
		t.Errorf("%+v, %v", last, err)
	}
	if _, err := o.Attempts(t.Context(), AttemptFilter{DeliveryID: "7"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v, want ErrNotFound", err)
	}
}

// One row for each (endpoint, event), by constraint: a fan-out that runs 50 times at once adds nothing.
func TestFanOutsOfOneEventInParallel(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.endpoint()
	o.endpoint(ordered)
	event := o.record("a", `{}`)
	inParallel(50, func() {
		if err := o.fanOut(t.Context(), event); err != nil {
			t.Error(err)
		}
	})
	if n := len(o.deliveries(DeliveryFilter{EventID: event.ID})); n != 2 {
		t.Errorf("%d deliveries, want 2", n)
	}
	if a := o.account(); a.Matched != 2 || a.Unaccounted != 0 {
		t.Errorf("%+v", a)
	}
}

func TestIDsAreUUIDs(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i := range 1000 {
		id := newUUID()
		if !isUUID(id) || id[14] != '4' || !slices.Contains([]byte("89ab"), id[19]) || seen[id] {
			t.Fatalf("%s: %q", strconv.Itoa(i), id)
		}
		seen[id] = true
	}
}
