package jobstest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/postbus/postbus/jobs"
)

func ranCases() []Case {
	return []Case{
		{Topic: "ran", Name: "failed", run: ranFailed,
			Sentence: "A job whose work failed before it was made begins with that attempt spent and its error kept, and runs again after its Backoff."},
		{Topic: "ran", Name: "failed-for-good", run: ranFailedForGood,
			Sentence: "Where MaxAttempts is 1, or the work answered a Discard, the job is made discarded, is reported, and does not run."},
		{Topic: "ran", Name: "snoozed", run: ranSnoozed,
			Sentence: "A job whose work was snoozed before it was made waits as long, with no attempt spent and no error."},
		{Topic: "ran", Name: "one-batch", run: ranInOneBatch,
			Sentence: "Jobs that begin so and jobs that do not can be made in one batch, in order, all or none."},
		{Topic: "ran", Name: "refused", run: ranRefused,
			Sentence: "Ran together with RunAt or UniqueByArgs is refused: it says itself when the job runs, and of what it is."},
		{Topic: "ran", Name: "names-itself", run: namesItself,
			Sentence: "A handler's context names the job that it runs for."},
	}
}

func ranFailed(e *env) {
	const pause = 700 * time.Millisecond
	p := e.sequence(nil)
	kind := p.kind("tried")
	kind.MaxAttempts, kind.Backoff = 2, func(int) time.Duration { return pause }
	i := e.startKinds(kind)
	earliest := e.now().Add(pause)
	id := e.enqueue(i, "tried", number(1), jobs.EnqueueOpts{Ran: jobs.Panicked("boom", []byte("a stack"))})
	job := e.get(i, id)
	if job.State != jobs.Retryable || job.Attempt != 1 || job.RunAt.Before(earliest) {
		e.Errorf("a job that was tried is %s after %d attempts, to run at %s; want retryable after 1, at %s or later",
			job.State, job.Attempt, job.RunAt, earliest)
	}
	e.failedWith(job, "panic: boom")
	if len(job.Errors) == 1 && (job.Errors[0].Stack != "a stack" || job.Errors[0].Attempt != 1) {
		e.Errorf("its error is %+v, want that of attempt 1 with its stack", job.Errors[0])
	}
	if job = e.ends(i, id, jobs.Completed); job.Attempt != 2 {
		e.Errorf("it completed in attempt %d, want 2", job.Attempt)
	}
	p.ran(1)
}

func ranFailedForGood(e *env) {
	p := e.sequence(nil)
	once := p.kind("once")
	once.MaxAttempts = 1
	i := e.startKinds(once, p.kind("hopeless"))
	first := e.enqueue(i, "once", number(1), jobs.EnqueueOpts{Ran: errBoom})
	second := e.enqueue(i, "hopeless", number(1), jobs.EnqueueOpts{Ran: fmt.Errorf("order 7: %w", jobs.Discard(errBoom))})
	e.failedWith(e.ends(i, first, jobs.Discarded), "boom")
	e.failedWith(e.ends(i, second, jobs.Discarded), "order 7: boom")
	e.alerts(i, first, second)
	e.ends(i, e.enqueue(i, "once", number(1)), jobs.Completed)
	p.ran(1)
}

func ranSnoozed(e *env) {
	p := e.sequence(nil)
	i := e.startKinds(p.kind("sleepy"))
	earliest := e.now().Add(time.Second)
	id := e.enqueue(i, "sleepy", number(1), jobs.EnqueueOpts{Ran: jobs.Snooze(time.Second)})
	if job := e.get(i, id); job.State != jobs.Pending || job.Attempt != 0 || job.RunAt.Before(earliest) || job.Snoozes != 1 {
		e.Errorf("it is %s after %d attempts and %d snoozes, to run at %s; want pending after 0 and 1, at %s or later",
			job.State, job.Attempt, job.Snoozes, job.RunAt, earliest)
	}
	if job := e.ends(i, id, jobs.Completed); job.Attempt != 1 || len(job.Errors) != 0 {
		e.Errorf("it completed in attempt %d with errors %s", job.Attempt, errorsOf(job))
	}
}

func ranInOneBatch(e *env) {
	p := e.probe(func(context.Context, run) error { return nil })
	i := e.startKinds(p.kind("mixed"))
	ends := []error{nil, errBoom, jobs.Discard(errBoom), nil, jobs.Snooze(0)}
	want := []jobs.State{jobs.Completed, jobs.Completed, jobs.Discarded, jobs.Completed, jobs.Completed}
	batch := make([]jobs.EnqueueParams, len(ends))
	for n, end := range ends {
		batch[n] = jobs.EnqueueParams{Kind: "mixed", Args: number(n), Opts: jobs.EnqueueOpts{Ran: end}}
	}
	ids, err := i.EnqueueMany(e.ctx, batch)
	e.ok(err, "enqueue a mixed batch")
	for n, id := range ids {
		if job := e.ends(i, id, want[n]); numberIn(job.Args) != n {
			e.Errorf("entry %d of the batch names the job of %s", n, job.Args)
		}
	}
	p.ran(4)
}

func ranRefused(e *env) {
	p := e.sequence(nil)
	i := e.startKinds(p.kind("tried"))
	for _, opts := range []jobs.EnqueueOpts{{Ran: errBoom, UniqueByArgs: true}, {Ran: errBoom, RunAt: e.now()}} {
		if id, err := i.Enqueue(e.ctx, "tried", number(1), opts); !errors.Is(err, jobs.ErrInvalid) {
			e.Errorf("%+v made job %q, %v; want ErrInvalid", opts, id, err)
		}
	}
}

func namesItself(e *env) {
	named := make(chan jobs.JobID, 1)
	p := e.probe(func(ctx context.Context, _ run) error {
		id, _ := jobs.Current(ctx)
		named <- id
		return nil
	})
	i := e.startKinds(p.kind("named"))
	id := e.enqueue(i, "named", number(1))
	e.ends(i, id, jobs.Completed)
	if got := <-named; got != id {
		e.Errorf("the context of job %s names %q", id, got)
	}
	if _, ok := jobs.Current(e.ctx); ok {
		e.Errorf("a context outside of a handler names a job")
	}
}
