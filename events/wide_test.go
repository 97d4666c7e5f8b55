package events

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
)

// A subscription with Batch gets jobs of up to so many events that lie near each other, in order; a single event gets its usual job. It is
// an owner's job only where all of its events are that owner's.
func TestPlanMakesWideJobs(t *testing.T) {
	t.Parallel()
	var events []claimedEvent
	for i, seq := range []int64{1, 2, 3, 5, 8, 9, 9 + wideSpan, 10 + wideSpan, 900_000} {
		e := claimedForTest(fmt.Sprint(seq), "note.changed", "a")
		e.Seq = seq
		if i == 4 {
			e.OwnerID = "another"
		}
		events = append(events, e)
	}
	p := planFor(events, []target{
		{name: "wide", types: []string{"note.*"}, batch: 3},
		{name: "plain", types: []string{"note.*"}, batch: 1},
	})
	var got []string
	for _, job := range p.jobs {
		got = append(got, fmt.Sprintf("%s %s %s", job.Kind, job.Opts.Owner, job.Args))
	}
	var want []string
	for _, e := range events {
		want = append(want, fmt.Sprintf(`plain %s {"event_id":"%s","subscription":"plain"}`, e.OwnerID, e.ID))
	}
	want = append(want,
		`wide o {"subscription":"wide","first_seq":1,"last_seq":3,"events":3}`,
		`wide  {"subscription":"wide","first_seq":5,"last_seq":9,"events":3}`,
		`wide o {"subscription":"wide","first_seq":5009,"last_seq":5010,"events":2}`,
		`wide o {"event_id":"900000","subscription":"wide"}`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	for i, refs := range p.refs {
		if job := p.jobs[refs["plain"]]; jsonEventID(t, job.Args) != events[i].ID {
			t.Errorf("event %s has the plain job %s", events[i].ID, job.Args)
		}
	}
	if at := p.refs[4]["wide"]; at != p.refs[3]["wide"] || at == p.refs[2]["wide"] {
		t.Errorf("the events refer to the wide jobs %v", p.refs)
	}
}

// A wide job costs a pass one job, whatever it covers.
func TestWideJobsCostAPassOne(t *testing.T) {
	t.Parallel()
	events := make([]claimedEvent, 1000)
	for i := range events {
		events[i] = claimedForTest(fmt.Sprint(i), "note.changed", "a")
	}
	var targets []target
	for i := range 10 {
		targets = append(targets, target{name: fmt.Sprint(i), types: []string{"*"}, batch: 200})
	}
	if n := affordable(events, targets); n != 1000 {
		t.Errorf("a pass can afford %d events of which it makes 50 jobs", n)
	}
	targets = append(targets, target{name: "plain", types: []string{"*"}}, target{name: "plain too", types: []string{"*"}}, target{name: "x", types: []string{"*"}})
	if n := affordable(events, targets); n >= 700 || n < 600 {
		t.Errorf("a pass affords %d events with three jobs each, want at most %d jobs", n, maxJobs)
	}
}

// While a version without wide jobs runs beside one that has them, none is made.
func TestNoWideJobsWhileAVersionKnowsNone(t *testing.T) {
	t.Parallel()
	now := time.Now()
	row := func(batch int32, seen time.Duration) eventsql.SubscriptionsSeenWithinRow {
		return eventsql.SubscriptionsSeenWithinRow{Name: "s", Types: []string{"a"}, Batch: batch, SeenAt: now.Add(-seen)}
	}
	for want, rows := range map[int][]eventsql.SubscriptionsSeenWithinRow{
		0:   {row(0, time.Second), row(200, 0)},
		100: {row(100, time.Second), row(200, 0)},
		200: {row(0, time.Hour), row(200, 0)},
	} {
		if got := active(rows); len(got) != 1 || got[0].batch != want {
			t.Errorf("%+v: want jobs of %d events", got, want)
		}
	}
}
