package webhooks

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func (o *office) update(id string, patch EndpointPatch) Endpoint {
	o.t.Helper()
	e, err := o.Update(o.t.Context(), id, patch)
	if err != nil {
		o.t.Fatal(err)
	}
	return e
}

func (o *office) version(id string) int {
	o.t.Helper()
	return o.count(`select version from postbus.webhook_endpoints where id = $1`, id)
}

func TestUpdateChangesWhatIsNamed(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	created := o.endpoint(func(s *EndpointSpec) { s.Headers = map[string]string{"a": "1"}; s.RatePerSecond = 3 })
	o.exec(`update postbus.event_types set exposure = 'internal' where name = $1`, exposedType) // of no matter for what stays
	got := o.update(created.ID, EndpointPatch{Description: ptr("new"), MaxInFlight: ptr(4), RatePerSecond: ptr(0)})
	want := created.Endpoint
	want.Description, want.MaxInFlight, want.RatePerSecond = "new", 4, 0
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Endpoint{}, "UpdatedAt")); diff != "" {
		t.Error(diff)
	}
	if o.version(created.ID) != 1 {
		t.Error("the version moved although a lane remembers nothing of this")
	}
}

// Lanes remember URL, headers and secrets, and look again when the version moves.
func TestVersionMovesWithWhatLanesRemember(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	created := o.endpoint()
	o.update(created.ID, EndpointPatch{URL: ptr("https://example.com/other")})
	o.update(created.ID, EndpointPatch{Headers: &map[string]string{"x-a": "2"}})
	if _, err := o.RotateSecret(t.Context(), created.ID, RotateSpec{}); err != nil {
		t.Fatal(err)
	}
	got, err := o.loadTarget(t.Context(), created.ID)
	if err != nil || got.version != 4 || got.url != "https://example.com/other" || got.headers.Get("X-A") != "2" || len(got.keys) != 2 {
		t.Errorf("version %d, url %s, %d headers, %d keys, %v; want version 4 and 2 keys", got.version, got.url, len(got.headers), len(got.keys), err)
	}
	if e := o.update(created.ID, EndpointPatch{Headers: &map[string]string{}}); e.HeaderNames != nil {
		t.Errorf("headers %v after they were removed", e.HeaderNames)
	}
}

func TestUpdateRefusals(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.endpoint().ID
	for says, patch := range map[string]EndpointPatch{
		"max_in_flight is 0": {MaxInFlight: ptr(0)},
		"url: blocked":       {URL: ptr("ftp://example.com")},
		"types has 0":        {Types: &[]string{}},
		"is internal":        {Types: &[]string{internalType}},
		"scope.subjects":     {Scope: &Scope{Subjects: []string{""}}},
		"cannot be set":      {Headers: &map[string]string{"host": "x"}},
		"reason says why":    {Reason: "x"},
		"reason has 1025":    {Enabled: ptr(false), Reason: strings.Repeat("x", 1025)},
	} {
		if _, err := o.Update(t.Context(), id, patch); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want ErrInvalid that says %q", err, says)
		}
	}
	if _, err := o.Update(t.Context(), newUUID(), EndpointPatch{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v, want ErrNotFound", err)
	}
}

// Disabling by hand discards what waits, in one act, and leaves what is in flight alone.
func TestDisablingDiscardsWhatWaits(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.endpoint().ID
	flying, waiting := o.delivery("a"), o.delivery("b")
	o.putInFlight(flying, 1, "1 minute")
	e := o.update(id, EndpointPatch{Enabled: ptr(false), Reason: "moving"})
	if e.Enabled || e.DisabledReason != "disabled by hand: moving" || e.DisabledAt == nil {
		t.Errorf("enabled %v, reason %q, at %v", e.Enabled, e.DisabledReason, e.DisabledAt)
	}
	if d := o.again(waiting); d.State != Discarded || !strings.HasPrefix(d.Reason, "endpoint disabled") || d.SettledAt == nil || d.AcknowledgedAt != nil {
		t.Errorf("what waited is %s (%s)", d.State, d.Reason)
	}
	if d := o.again(flying); d.State != Pending || !d.InFlight {
		t.Errorf("what was in flight is %s, in flight %v", d.State, d.InFlight)
	}
	if d := o.delivery("c"); d.State != Skipped {
		t.Errorf("what met the disabled endpoint is %s", d.State)
	}
}

func TestEnablingForgetsTheFailures(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.endpoint().ID
	o.exec(`update postbus.webhook_endpoints set enabled = false, disabled_reason = 'x', disabled_at = now(), failing_since = now(),
		cooldown_until = now() + interval '1 hour' where id = $1`, id)
	e := o.update(id, EndpointPatch{Enabled: ptr(true)})
	if !e.Enabled || e.DisabledReason != "" || e.DisabledAt != nil || e.FailingSince != nil || e.CooldownUntil != nil {
		t.Errorf("%+v", e)
	}
}

// A lowered bound closes the slots above it, except those in which a request is under way.
func TestLoweringTheBoundClosesSlots(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.endpoint(func(s *EndpointSpec) { s.MaxInFlight = 5 }).ID
	live, dead := o.delivery("a"), o.delivery("b")
	o.exec(`delete from postbus.webhook_slots`)
	o.exec(`insert into postbus.webhook_slots (endpoint_id, slot) select $1, generate_series(1, 5)`, id)
	o.putInFlight(live, 4, "1 minute")
	o.putInFlight(dead, 5, "-1 second")
	o.update(id, EndpointPatch{MaxInFlight: ptr(2)})
	got := one[[]int32](t, o.pool, `select array_agg(slot order by slot) from postbus.webhook_slots`)
	if !slices.Equal(got, []int32{1, 2, 4}) {
		t.Errorf("slots %v, want 1, 2 and 4", got)
	}
}

func TestRaisingTheBoundOpensLanes(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.endpoint().ID
	for range 5 {
		o.delivery("a")
	}
	if n := o.count(`select count(*) from postbus.webhook_slots`); n != 1 {
		t.Fatalf("%d slots, want 1", n)
	}
	o.update(id, EndpointPatch{MaxInFlight: ptr(3)})
	if n := o.count(`select count(*) from postbus.webhook_slots where job_id is not null`); n != 3 {
		t.Errorf("%d slots with a job, want 3", n)
	}
}

// The order can be switched at any time: what waits lines up by seq, or no longer does. What is in flight stays outside.
func TestTogglingOrdered(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.endpoint(func(s *EndpointSpec) { s.MaxInFlight = 4 }).ID
	flying := o.delivery("a")
	o.putInFlight(flying, 1, "1 minute")
	a1, b1, a2 := o.delivery("a"), o.delivery("b"), o.delivery("a")
	o.update(id, EndpointPatch{Ordered: ptr(true)})
	front, behind := o.places(id)
	want := []string{strings.Join([]string{at("a", flying), at("a", a1), at("b", b1)}, " "), at("a", a2)}
	if diff := cmp.Diff(want, []string{front, behind}); diff != "" {
		t.Errorf("ordered: %s", diff)
	}
	a3 := o.delivery("a")
	o.update(id, EndpointPatch{Ordered: ptr(false)})
	front, behind = o.places(id)
	want = []string{strings.Join([]string{at("a", flying), at("a", a1), at("b", b1), at("a", a2), at("a", a3)}, " "), ""}
	if diff := cmp.Diff(want, []string{front, behind}); diff != "" {
		t.Errorf("no longer ordered: %s", diff)
	}
	if n := o.count(`select count(*) from postbus.webhook_slots`); n != 4 {
		t.Errorf("%d slots, want 4: those that stood behind may go", n)
	}
}
