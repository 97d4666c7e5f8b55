package jobstest

import (
	"context"
	"time"

	"github.com/postbus/postbus/jobs"
)

func cancelCases() []Case {
	return []Case{
		{Topic: "cancel", Name: "pending", run: cancelPending,
			Sentence: "Cancel ends a pending job as cancelled at once, and it never runs."},
		{Topic: "cancel", Name: "retryable", run: cancelRetryable,
			Sentence: "Cancel ends a retryable job as cancelled at once, and it runs no more."},
		{Topic: "cancel", Name: "running", run: cancelRunning, Needs: CancelRunning,
			Sentence: "Cancel of a running job cancels its context; it ends as cancelled, whatever attempts are left."},
		{Topic: "cancel", Name: "running-elsewhere", run: cancelRunningElsewhere, Needs: CancelRunning,
			Sentence: "A running job can be cancelled from another instance."},
		{Topic: "cancel", Name: "completes-first", run: cancelCompletesFirst, Needs: CancelRunning,
			Sentence: "A running job that completes in spite of a Cancel is completed."},
		{Topic: "cancel", Name: "final-stays", run: cancelFinalStays,
			Sentence: "Cancel leaves a completed or cancelled job as it is."},
	}
}

func cancelPending(e *env) {
	p, after := e.probe(nil), e.probe(nil)
	plain, later := p.kind("plain"), after.kind("later")
	later.Queue = plain.Queue
	i := e.create(Spec{Kinds: []jobs.Kind{plain, later}, Queues: map[string]int{"plain": 1}})
	ids := []jobs.JobID{
		e.enqueue(i, "plain", number(1)),
		e.enqueue(i, "plain", number(2), jobs.EnqueueOpts{RunAt: e.now().Add(200 * time.Millisecond)}),
	}
	for _, id := range ids {
		if job := e.cancel(i, id); job.ID != id || job.State != jobs.Cancelled || job.FinishedAt == nil {
			e.Errorf("Cancel answered job %q as %s, finished at %v", job.ID, job.State, job.FinishedAt)
		}
	}
	e.begin(i)
	e.ends(i, e.enqueue(i, "later", number(1), jobs.EnqueueOpts{RunAt: e.now().Add(300 * time.Millisecond)}), jobs.Completed)
	for _, id := range ids {
		if state := e.get(i, id).State; state != jobs.Cancelled {
			e.Errorf("a cancelled job is %s", state)
		}
	}
	p.ran(0)
}

func cancelRetryable(e *env) {
	p, after := e.probe(func(context.Context, run) error { return errBoom }), e.probe(nil)
	failing := p.kind("failing")
	failing.Backoff = func(int) time.Duration { return 700 * time.Millisecond }
	i := e.startKinds(failing, after.kind("later"))
	var id jobs.JobID
	var job jobs.Job
	e.eventually(func() (bool, string) { // until one is cancelled between two attempts
		id = e.enqueue(i, "failing", number(1))
		job = e.reaches(i, id, jobs.Retryable)
		state := e.cancel(i, id).State
		return state == jobs.Cancelled, "Cancel of a retryable job answered " + string(state)
	})
	ran := p.count()
	later := jobs.EnqueueOpts{RunAt: job.RunAt.Add(100 * time.Millisecond)}
	e.ends(i, e.enqueue(i, "later", number(1), later), jobs.Completed)
	p.ran(ran)
	e.ends(i, id, jobs.Cancelled)
}

// untilCancelled makes a handler that runs until its context ends, then says so and answers with the context's error.
func (e *env) untilCancelled() (*probe, <-chan error) {
	ended := make(chan error, 16)
	never := e.gate()
	return e.probe(func(ctx context.Context, _ run) error {
		err := never.pass(ctx)
		ended <- err
		return err
	}), ended
}

func cancelRunning(e *env) {
	p, ended := e.untilCancelled()
	i := e.startKinds(p.kind("endless"))
	id := e.enqueue(i, "endless", number(1))
	p.next()
	e.cancel(i, id)
	if err := soon(e, ended, "Cancel of a running job cancels its context"); err == nil {
		e.Fatalf("the handler ended without its context")
	}
	job := e.ends(i, id, jobs.Cancelled)
	if job.FinishedAt == nil {
		e.Errorf("a cancelled job has no FinishedAt")
	}
	p.ran(1)
}

func cancelRunningElsewhere(e *env) {
	p, ended := e.untilCancelled()
	here := e.startKinds(p.kind("endless"))
	there := e.create(Spec{App: "panel"})
	id := e.enqueue(here, "endless", number(1))
	p.next()
	e.cancel(there, id)
	soon(e, ended, "Cancel from another instance cancels the context of a running job")
	e.ends(there, id, jobs.Cancelled)
}

func cancelCompletesFirst(e *env) {
	told, finish := make(chan struct{}, 1), e.gate()
	p := e.probe(func(ctx context.Context, _ run) error {
		_ = e.gate().pass(ctx)
		told <- struct{}{}
		finish.passDeaf()
		return nil
	})
	i := e.startKinds(p.kind("stubborn"))
	id := e.enqueue(i, "stubborn", number(1))
	p.next()
	if job := e.cancel(i, id); job.State.Final() {
		e.Errorf("Cancel answered a job that still runs as %s", job.State)
	}
	soon(e, told, "Cancel of a running job cancels its context")
	finish.release()
	e.ends(i, id, jobs.Completed)
}

func cancelFinalStays(e *env) {
	p := e.probe(nil)
	i := e.startKinds(p.kind("plain"))
	completed := e.enqueue(i, "plain", number(1))
	before := e.ends(i, completed, jobs.Completed)
	cancelled := e.enqueue(i, "plain", number(2), jobs.EnqueueOpts{RunAt: e.now().Add(time.Hour)})
	first := e.cancel(i, cancelled)
	for id, want := range map[jobs.JobID]jobs.Job{completed: before, cancelled: first} {
		job := e.cancel(i, id)
		if job.State != want.State || job.FinishedAt == nil || !job.FinishedAt.Equal(*want.FinishedAt) {
			e.Errorf("Cancel made a %s job of %v into %s of %v", want.State, want.FinishedAt, job.State, job.FinishedAt)
		}
	}
}
