package jobstest

import (
	"context"
	"errors"
	"fmt"

	"github.com/postbus/postbus/jobs"
)

func discardCases() []Case {
	return []Case{
		{Topic: "discard", Name: "ends-with-attempts-left", run: discardEnds,
			Sentence: "Discard ends the job as discarded with its error as the last one, whatever attempts are left."},
		{Topic: "discard", Name: "wrapped-or-nil", run: discardWrapped,
			Sentence: "An error that wraps a Discard is one; a nil error counts as \"discarded by its handler\"."},
		{Topic: "discard", Name: "alert-until-acknowledged", run: alertUntilAcknowledged,
			Sentence: "A discarded job is reported until it is acknowledged, and then stays."},
		{Topic: "discard", Name: "alert-ends-by-an-act", run: alertEndsByAnAct,
			Sentence: "A discarded job is reported until somebody retries or cancels it."},
		{Topic: "discard", Name: "alerts-again", run: alertsAgain,
			Sentence: "A job that was acknowledged, retried and discarded again is reported again: nothing fails in silence."},
	}
}

func discardEnds(e *env) {
	p := e.sequence(errors.New("first"), jobs.Discard(errors.New("hopeless")))
	kind := p.kind("hopeless")
	kind.MaxAttempts = 9
	i := e.startKinds(kind)
	job := e.ends(i, e.enqueue(i, "hopeless", number(1)), jobs.Discarded)
	e.failedWith(job, "first", "hopeless")
	if job.FinishedAt == nil {
		e.Errorf("a discarded job has no FinishedAt")
	}
	p.ran(2)
}

func discardWrapped(e *env) {
	ends := []error{fmt.Errorf("order 7: %w", jobs.Discard(errBoom)), jobs.Discard(nil)}
	p := e.probe(func(_ context.Context, r run) error { return ends[numberIn(r.Args)] })
	i := e.startKinds(p.kind("hopeless"))
	ids := e.enqueueN(i, "hopeless", len(ends), jobs.EnqueueOpts{})
	e.failedWith(e.ends(i, ids[0], jobs.Discarded), "order 7: boom")
	e.failedWith(e.ends(i, ids[1], jobs.Discarded), "discarded by its handler")
	p.ran(2)
}

// hopeless starts an instance whose only kind discards, and answers the ids of n jobs that were.
func (e *env) hopeless(n int) (*instance, []jobs.JobID) {
	e.Helper()
	p := e.probe(func(context.Context, run) error { return jobs.Discard(errBoom) })
	i := e.startKinds(p.kind("hopeless"))
	ids := e.enqueueN(i, "hopeless", n, jobs.EnqueueOpts{})
	e.endsAll(i, ids, jobs.Discarded)
	return i, ids
}

// alerts fails the case where exactly these jobs are not reported as discarded, in the count and in the list.
func (e *env) alerts(i *instance, want ...jobs.JobID) {
	e.Helper()
	if got := e.overview(i, "").Unacked; got.N != int64(len(want)) || got.About {
		e.Errorf("Overview reports %d discarded jobs (about: %v), want exactly %d", got.N, got.About, len(want))
	}
	e.sameIDs("discarded jobs that nobody acknowledged", want, idsOf(e.list(i, jobs.Filter{Unacked: true}).Jobs))
}

func alertUntilAcknowledged(e *env) {
	i, ids := e.hopeless(2)
	e.alerts(i, ids...)
	if e.get(i, ids[0]).Acknowledged {
		e.Errorf("a job is acknowledged before anybody did")
	}
	for range 2 { // once more is fine
		e.ok(i.Inspector().Acknowledge(e.ctx, ids[0]), "acknowledge")
	}
	e.alerts(i, ids[1])
	job := e.get(i, ids[0])
	if job.State != jobs.Discarded || !job.Acknowledged {
		e.Errorf("the acknowledged job is %s, acknowledged: %v", job.State, job.Acknowledged)
	}
	e.failedWith(job, "boom")
	e.sameIDs("discarded jobs", ids, idsOf(e.list(i, jobs.Filter{States: []jobs.State{jobs.Discarded}}).Jobs))
}

func alertEndsByAnAct(e *env) {
	i, ids := e.hopeless(3)
	e.ok(i.Stop(e.ctx), "stop")
	i = e.create(Spec{App: "panel"}) // nobody works: what is retried waits
	if job := e.cancel(i, ids[0]); job.State != jobs.Cancelled {
		e.Errorf("a discarded job is %s after Cancel, want cancelled", job.State)
	}
	e.alerts(i, ids[1], ids[2])
	job, err := i.Inspector().Retry(e.ctx, ids[1])
	e.ok(err, "retry")
	if job.State.Final() {
		e.Errorf("a discarded job is %s after Retry", job.State)
	}
	e.alerts(i, ids[2])
}

func alertsAgain(e *env) {
	i, ids := e.hopeless(1)
	e.ok(i.Inspector().Acknowledge(e.ctx, ids[0]), "acknowledge")
	e.alerts(i)
	_, err := i.Inspector().Retry(e.ctx, ids[0])
	e.ok(err, "retry")
	e.eventually(func() (bool, string) {
		job := e.get(i, ids[0])
		return job.State == jobs.Discarded && len(job.Errors) == 2, fmt.Sprintf("job is %s: %s", job.State, errorsOf(job))
	})
	e.alerts(i, ids[0])
	if e.get(i, ids[0]).Acknowledged {
		e.Errorf("a job that was discarded again is still acknowledged")
	}
}
