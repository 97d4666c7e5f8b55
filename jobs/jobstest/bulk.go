package jobstest

import (
	"context"
	"time"

	"github.com/postbus/postbus/jobs"
)

func bulkCases() []Case {
	return []Case{
		{Topic: "bulk", Name: "retry-by-filter", run: bulkRetry,
			Sentence: "RetryMany retries the jobs that match and no others, at most Limit of them, and answers how many."},
		{Topic: "bulk", Name: "cancel-by-filter", run: bulkCancel,
			Sentence: "CancelMany cancels the jobs that match and no others, at most Limit of them, and answers how many."},
		{Topic: "bulk", Name: "until-zero", run: bulkUntilZero, Needs: CancelRunning,
			Sentence: "Called again, the bulk acts answer 0 in the end, though jobs that run take their time to stop."},
	}
}

func bulkRetry(e *env) {
	i, failed := e.hopeless(7)
	e.ok(i.Stop(e.ctx), "stop")
	desk := e.create(Spec{App: "panel"}) // nobody works: what is retried waits
	bystander := e.enqueue(desk, "other", number(1), jobs.EnqueueOpts{Queue: "hopeless", MaxAttempts: 1})
	e.cancel(desk, bystander)
	filter := jobs.Filter{Kinds: []string{"hopeless"}, States: []jobs.State{jobs.Discarded}, Limit: 3}
	for _, want := range []int{3, 3, 1, 0} {
		got, err := desk.Inspector().RetryMany(e.ctx, filter)
		e.ok(err, "retry by filter")
		if got != want {
			e.Errorf("RetryMany answered %d, want %d", got, want)
		}
	}
	pending := e.list(desk, jobs.Filter{States: []jobs.State{jobs.Pending}})
	e.sameIDs("jobs that wait again", failed, idsOf(pending.Jobs))
	if state := e.get(desk, bystander).State; state != jobs.Cancelled {
		e.Errorf("a job that does not match is %s", state)
	}
	again := e.probe(nil)
	e.startKinds(again.kind("hopeless"))
	e.endsAll(desk, failed, jobs.Completed)
	again.ran(len(failed))
}

func bulkCancel(e *env) {
	p := e.probe(nil)
	i := e.create(Spec{Kinds: []jobs.Kind{p.kind("plain")}})
	mine := e.enqueueN(i, "plain", 7, jobs.EnqueueOpts{Owner: "mine"})
	theirs := e.enqueueN(i, "plain", 3, jobs.EnqueueOpts{Owner: "theirs"})
	filter := jobs.Filter{Owner: "mine", States: []jobs.State{jobs.Pending}, Limit: 4}
	for _, want := range []int{4, 3, 0} {
		got, err := i.Inspector().CancelMany(e.ctx, filter)
		e.ok(err, "cancel by filter")
		if got != want {
			e.Errorf("CancelMany answered %d, want %d", got, want)
		}
	}
	cancelled := e.list(i, jobs.Filter{States: []jobs.State{jobs.Cancelled}})
	e.sameIDs("cancelled jobs", mine, idsOf(cancelled.Jobs))
	e.begin(i)
	e.endsAll(i, theirs, jobs.Completed)
	p.ran(len(theirs))
}

func bulkUntilZero(e *env) {
	const running, enough = 2, 10
	finish, told := e.gate(), make(chan struct{}, running)
	p := e.probe(func(ctx context.Context, _ run) error {
		_ = e.gate().pass(ctx)
		told <- struct{}{}
		finish.passDeaf()
		return ctx.Err()
	})
	i := e.start(Spec{Kinds: []jobs.Kind{p.kind("slow")}, Queues: map[string]int{"slow": running}})
	ids := e.enqueueN(i, "slow", running, jobs.EnqueueOpts{})
	for range running {
		p.next()
	}
	ids = append(ids, e.enqueueN(i, "slow", 3, jobs.EnqueueOpts{RunAt: time.Now().Add(time.Hour)})...)
	changed, calls := 0, 0
	for n := -1; n != 0; calls++ {
		if calls == enough {
			e.Fatalf("CancelMany has changed %d jobs of %d and does not come to an end", changed, len(ids))
		}
		var err error
		n, err = i.Inspector().CancelMany(e.ctx, jobs.Filter{Kinds: []string{"slow"}, Limit: 2})
		e.ok(err, "cancel by filter")
		changed += n
	}
	if changed != len(ids) {
		e.Errorf("CancelMany changed %d jobs in all, want %d", changed, len(ids))
	}
	for range running {
		soon(e, told, "CancelMany cancels the contexts of running jobs")
	}
	finish.release()
	e.endsAll(i, ids, jobs.Cancelled)
}
