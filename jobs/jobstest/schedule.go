package jobstest

import (
	"context"
	"fmt"
	"time"

	"github.com/postbus/postbus/jobs"
)

func scheduleCases() []Case {
	return []Case{
		{Topic: "schedule", Name: "not-before", run: scheduleNotBefore,
			Sentence: "RunAt is the earliest time that a job may run."},
		{Topic: "schedule", Name: "to-the-microsecond", run: scheduleToTheMicrosecond,
			Sentence: "RunAt holds to the microsecond, whatever its time zone."},
		{Topic: "schedule", Name: "past-runs-now", run: schedulePast,
			Sentence: "A RunAt in the past, like none, means now."},
		{Topic: "schedule", Name: "waits-as-pending", run: scheduleWaitsAsPending,
			Sentence: "A job that waits for its RunAt is pending and does not count as waiting for a worker."},
	}
}

func scheduleNotBefore(e *env) {
	began := make(chan time.Time, 8)
	p := e.probe(func(ctx context.Context, _ run) error {
		now, err := e.clock(ctx)
		began <- now
		return err
	})
	i := e.startKinds(p.kind("timed"))
	at := e.now().Add(900 * time.Millisecond)
	single := e.enqueue(i, "timed", number(1), jobs.EnqueueOpts{RunAt: at})
	batch := e.enqueueN(i, "timed", 2, jobs.EnqueueOpts{RunAt: at})
	for range 3 {
		if got := soon(e, began, "a job with a RunAt runs"); got.Before(at) {
			e.Errorf("a job began %s before its RunAt", at.Sub(got))
		}
	}
	e.endsAll(i, append(batch, single), jobs.Completed)
	p.ran(3)
}

func scheduleToTheMicrosecond(e *env) {
	i := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("timed")}})
	east := time.FixedZone("east", 5*60*60+45*60)
	for _, at := range []time.Time{
		time.Date(2040, 2, 29, 23, 59, 59, 999_999_000, time.UTC),
		time.Date(2040, 1, 1, 0, 0, 0, 1_000, east),
		e.now().Add(time.Hour).Truncate(time.Second).Add(123_456 * time.Microsecond),
		e.now().Add(1500 * time.Millisecond).Truncate(time.Second).Add(-time.Microsecond).Add(time.Second),
	} {
		job := e.get(i, e.enqueue(i, "timed", number(1), jobs.EnqueueOpts{RunAt: at}))
		if !job.RunAt.Equal(at) {
			e.Errorf("a RunAt of %s is kept as %s", at, job.RunAt)
		}
	}
}

func schedulePast(e *env) {
	p := e.probe(nil)
	i := e.startKinds(p.kind("timed"))
	for _, at := range []time.Time{{}, e.now().Add(-time.Hour), time.Unix(0, 0)} {
		e.ends(i, e.enqueue(i, "timed", number(1), jobs.EnqueueOpts{RunAt: at}), jobs.Completed)
	}
}

func scheduleWaitsAsPending(e *env) {
	i := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("timed")}})
	id := e.enqueue(i, "timed", number(1), jobs.EnqueueOpts{RunAt: e.now().Add(time.Hour)})
	if job := e.get(i, id); job.State != jobs.Pending {
		e.Errorf("the job is %s, want pending", job.State)
	}
	page := e.list(i, jobs.Filter{States: []jobs.State{jobs.Pending}})
	e.sameIDs("pending jobs", []jobs.JobID{id}, idsOf(page.Jobs))
	if overview := e.overview(i, "timed"); overview.States[jobs.Pending].N != 1 || overview.OldestPending != nil {
		e.Errorf("Overview counts %d pending, the oldest at %v; want 1, and none that may run now",
			overview.States[jobs.Pending].N, overview.OldestPending)
	}
	due := e.get(i, e.enqueue(i, "timed", number(2)))
	oldest := e.overview(i, "").OldestPending
	if oldest == nil || !oldest.Equal(due.RunAt) {
		e.Errorf("the oldest pending job is of %s, want %s", fmt.Sprint(oldest), due.RunAt)
	}
}
