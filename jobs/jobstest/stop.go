package jobstest

import (
	"context"
	"time"

	"github.com/postbus/postbus/jobs"
)

func stopCases() []Case {
	return []Case{
		{Topic: "stop", Name: "lets-running-finish", run: stopLetsRunningFinish,
			Sentence: "Stop lets running jobs finish: when it returns, they are recorded as ended."},
		{Topic: "stop", Name: "fetches-no-more", run: stopFetchesNoMore,
			Sentence: "Stop stops fetching at once, though running jobs go on."},
		{Topic: "stop", Name: "grace-ends", run: stopGraceEnds,
			Sentence: "After the grace period Stop cancels the contexts; those jobs go back to their queue without spending an attempt."},
		{Topic: "stop", Name: "twice-or-never-started", run: stopTwice,
			Sentence: "Stop of a runtime that was never started, or was stopped already, is fine."},
		{Topic: "stop", Name: "finishes-in-the-last-moment", run: stopLastMoment,
			Sentence: "A job that completes although its context ended with the grace period is completed."},
	}
}

// stopping begins to stop the instance and answers a channel that gets what Stop answered.
func (e *env) stopping(i *instance) <-chan error {
	stopped := make(chan error, 1)
	e.aside(func() { stopped <- i.Stop(context.Background()) })
	return stopped
}

func stopLetsRunningFinish(e *env) {
	hold, ended := e.gate(), make(chan error, 1)
	p := e.probe(func(ctx context.Context, _ run) error {
		err := hold.pass(ctx)
		ended <- err
		return err
	})
	i := e.start(Spec{Kinds: []jobs.Kind{p.kind("held")}, Grace: time.Minute})
	watch := e.create(Spec{App: "panel"})
	id := e.enqueue(i, "held", number(1))
	p.next()
	stopped := e.stopping(i)
	e.stillRuns(watch, id, stopped)
	hold.release()
	e.ok(soon(e, stopped, "Stop returns after the last job"), "stop")
	if job := e.get(watch, id); job.State != jobs.Completed {
		e.Errorf("when Stop has returned, the job that ran is %s, want completed", job.State)
	}
	if err := soon(e, ended, "the handler ends"); err != nil {
		e.Errorf("the handler's context ended within the grace period: %v", err)
	}
	p.ran(1)
}

// stillRuns fails the case where Stop returns while a job runs. It gives Stop the time of a job from beginning to end.
func (e *env) stillRuns(watch *instance, id jobs.JobID, stopped <-chan error) {
	e.Helper()
	e.pass()
	select {
	case <-stopped:
		e.Errorf("Stop returned while a job ran")
	default:
	}
	if job := e.get(watch, id); job.State != jobs.Running {
		e.Errorf("during Stop the running job is %s", job.State)
	}
}

func stopFetchesNoMore(e *env) {
	hold := e.gate()
	p := e.probe(func(ctx context.Context, _ run) error { return hold.pass(ctx) })
	i := e.start(Spec{Kinds: []jobs.Kind{p.kind("held")}, Grace: time.Minute})
	first := e.enqueue(i, "held", number(1))
	p.next()
	stopped := e.stopping(i)
	desk := e.create(Spec{App: "panel"})
	e.stillRuns(desk, first, stopped)
	second := e.enqueue(desk, "held", number(2), jobs.EnqueueOpts{Queue: "held", MaxAttempts: 1})
	e.stillRuns(desk, first, stopped)
	hold.release()
	e.ok(soon(e, stopped, "Stop returns after the last job"), "stop")
	if job := e.get(desk, second); job.State != jobs.Pending || job.Attempt != 0 {
		e.Errorf("a job made during Stop is %s after %d attempts", job.State, job.Attempt)
	}
	p.ran(1)
}

func stopGraceEnds(e *env) {
	const grace = 300 * time.Millisecond
	p, ended := e.untilCancelled()
	i := e.start(Spec{Kinds: []jobs.Kind{p.kind("endless")}, Grace: grace})
	last := jobs.EnqueueOpts{MaxAttempts: 1}
	id := e.enqueue(i, "endless", number(1), last)
	p.next()
	began := time.Now()
	stopped := e.stopping(i)
	if err := soon(e, ended, "after the grace period Stop cancels the contexts"); err == nil {
		e.Errorf("the handler ended without its context")
	}
	if took := time.Since(began); took < grace-50*time.Millisecond {
		e.Errorf("the context ended %s after Stop began, before the grace period of %s", took, grace)
	}
	e.ok(soon(e, stopped, "Stop returns after the handlers"), "stop")
	second := e.probe(nil)
	next := e.create(Spec{Kinds: []jobs.Kind{second.kind("endless")}})
	if job := e.get(next, id); job.State != jobs.Pending || job.Attempt != 0 || len(job.Errors) != 0 {
		e.Errorf("the job that Stop sent back is %s after %d attempts, errors %s; want pending, 0, none",
			job.State, job.Attempt, errorsOf(job))
	}
	e.begin(next)
	if job := e.ends(next, id, jobs.Completed); job.Attempt != 1 || job.MaxAttempts != 1 {
		e.Errorf("it completed in attempt %d of %d, want 1 of 1", job.Attempt, job.MaxAttempts)
	}
	second.ran(1)
}

func stopTwice(e *env) {
	never := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("plain")}})
	e.ok(never.Stop(e.ctx), "stop what never started")
	e.ok(never.Stop(e.ctx), "stop it again")
	p := e.probe(nil)
	i := e.startKinds(p.kind("plain"))
	e.ends(i, e.enqueue(i, "plain", number(1)), jobs.Completed)
	errs := make([]error, 4)
	together(len(errs), func(n int) { errs[n] = i.Stop(e.ctx) })
	for _, err := range errs {
		e.ok(err, "stop from several sides")
	}
	e.ok(i.Stop(e.ctx), "stop again")
}

func stopLastMoment(e *env) {
	told, finish := make(chan struct{}, 1), e.gate()
	p := e.probe(func(ctx context.Context, _ run) error {
		_ = e.gate().pass(ctx)
		told <- struct{}{}
		finish.passDeaf()
		return nil
	})
	i := e.start(Spec{Kinds: []jobs.Kind{p.kind("stubborn")}, Grace: 50 * time.Millisecond})
	desk := e.create(Spec{App: "panel"})
	id := e.enqueue(i, "stubborn", number(1))
	p.next()
	stopped := e.stopping(i)
	soon(e, told, "after the grace period Stop cancels the contexts")
	finish.release()
	e.ok(soon(e, stopped, "Stop returns after the handlers"), "stop")
	e.ends(desk, id, jobs.Completed)
}
