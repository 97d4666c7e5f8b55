package events

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
)

func claimedForTest(id, typ, subject string) claimedEvent {
	return claimedEvent{ID: id, Type: typ, OwnerID: "o", Subject: subject}
}

// Two events about one subject are two facts, except where the subscription coalesces: then the latest one's job covers both.
func TestPlanCoalescesOnlyWhereAsked(t *testing.T) {
	t.Parallel()
	events := []claimedEvent{
		claimedForTest("1", "note.changed", "a"), claimedForTest("2", "note.changed", "b"), claimedForTest("3", "note.changed", "a"),
		claimedForTest("4", "other", "a"),
	}
	p := planFor(events, []target{
		{name: "index", types: []string{"note.*"}, coalesce: true},
		{name: "audit", types: []string{"note.changed"}},
	})
	jobOf := func(i int, name string) string {
		at, ok := p.refs[i][name]
		if !ok {
			return "none"
		}
		return jsonEventID(t, p.jobs[at].Args)
	}
	got := map[string][]string{}
	for i := range events {
		for _, name := range []string{"index", "audit"} {
			got[name] = append(got[name], jobOf(i, name))
		}
	}
	want := map[string][]string{"index": {"3", "2", "3", "none"}, "audit": {"1", "2", "3", "none"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("jobs per event (-want +got):\n%s", diff)
	}
	if len(p.jobs) != 5 {
		t.Errorf("%d jobs planned, want 5", len(p.jobs))
	}
}

// While two versions of an application run side by side both declarations count; one last seen long before the other does not.
func TestActiveIsTheUnionOfWhatWasSeenTogether(t *testing.T) {
	t.Parallel()
	now := time.Now()
	row := func(name string, types []string, seen time.Duration, coalesces bool) eventsql.SubscriptionsSeenWithinRow {
		return eventsql.SubscriptionsSeenWithinRow{
			Name: name, Types: types, Coalesces: coalesces, Queue: "q" + types[0], MaxAttempts: 3, SeenAt: now.Add(-seen),
		}
	}
	got := active([]eventsql.SubscriptionsSeenWithinRow{
		row("both", []string{"a"}, 2*time.Second, true), row("both", []string{"b"}, 0, false),
		row("gone", []string{"a"}, time.Hour, false),
		row("old", []string{"a"}, time.Hour, false), row("old", []string{"b"}, 0, false),
	})
	want := []target{
		{name: "both", types: []string{"a", "b"}, queue: "qb", maxAttempts: 3, seen: now},
		{name: "gone", types: []string{"a"}, queue: "qa", maxAttempts: 3, seen: now.Add(-time.Hour)},
		{name: "old", types: []string{"b"}, queue: "qb", maxAttempts: 3, seen: now},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(target{})); diff != "" {
		t.Errorf("active (-want +got):\n%s", diff)
	}
}

// A notification has less than 8,000 bytes, whatever the batch.
func TestChunksStayUnderTheLimitOfNotify(t *testing.T) {
	t.Parallel()
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = "00000000-0000-4000-8000-000000000000"
	}
	for _, payload := range chunks(ids) {
		if len(payload) >= 8000 {
			t.Errorf("a payload has %d bytes", len(payload))
		}
	}
	if n := len(chunks(ids)); n != 5 {
		t.Errorf("%d payloads, want 5", n)
	}
}

// Many subscribers make more passes, not one transaction of seconds; one event is always affordable.
func TestPassIsBoundedInJobs(t *testing.T) {
	t.Parallel()
	events := make([]claimedEvent, 200)
	for i := range events {
		events[i] = claimedForTest("id", "note.changed", "s")
	}
	targets := func(n int) []target {
		out := make([]target, n)
		for i := range out {
			out[i] = target{types: []string{"*"}}
		}
		return out
	}
	for subscribers, want := range map[int]int{0: 200, 1: 200, 10: 200, 100: 20, 5000: 1} {
		if got := affordable(events, targets(subscribers)); got != want {
			t.Errorf("%d subscribers: a pass takes %d events, want %d", subscribers, got, want)
		}
	}
}

// The floor after passes side by side: no row that one of them left is overlooked, nor any claimed again for nothing.
func TestNextClaimStartsAtTheFirstRowLeft(t *testing.T) {
	t.Parallel()
	done, more := passResult{next: 201}, passResult{next: 401}
	left, leftLater := passResult{next: 21, left: true}, passResult{next: 221, left: true}
	for _, c := range []struct {
		a, b passResult
		want int64
	}{{done, more, 401}, {left, more, 21}, {done, leftLater, 221}, {left, leftLater, 21}, {passResult{}, done, 201}} {
		for _, got := range []int64{c.a.plus(c.b).next, c.b.plus(c.a).next} {
			if got != c.want {
				t.Errorf("%+v and %+v: the next claim starts at %d, want %d", c.a, c.b, got, c.want)
			}
		}
	}
}
