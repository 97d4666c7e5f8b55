package jobstest

import (
	"context"
	"errors"
	"time"

	"github.com/postbus/postbus/jobs"
)

func timeoutCases() []Case {
	return []Case{
		{Topic: "timeout", Name: "cancels-the-context", run: timeoutCancels,
			Sentence: "Timeout bounds one attempt: the context ends with DeadlineExceeded."},
		{Topic: "timeout", Name: "spends-an-attempt", run: timeoutSpendsAnAttempt,
			Sentence: "A timeout spends an attempt and retries; the last one discards."},
		{Topic: "timeout", Name: "none", run: timeoutNone,
			Sentence: "A Timeout of -1 means none."},
	}
}

func timeoutCancels(e *env) {
	const limit = 300 * time.Millisecond
	p, ended := e.untilCancelled()
	kind := p.kind("endless")
	kind.Timeout, kind.MaxAttempts = limit, 1
	i := e.startKinds(kind)
	id := e.enqueue(i, "endless", number(1))
	began := p.next().At
	if err := soon(e, ended, "a timeout cancels the handler's context"); !errors.Is(err, context.DeadlineExceeded) {
		e.Errorf("the handler's context ended with %v, want DeadlineExceeded", err)
	}
	if took := time.Since(began); took < limit-50*time.Millisecond {
		e.Errorf("the context ended after %s, before the timeout of %s", took, limit)
	}
	e.ends(i, id, jobs.Discarded)
}

func timeoutSpendsAnAttempt(e *env) {
	p, _ := e.untilCancelled()
	kind := p.kind("endless")
	kind.Timeout, kind.MaxAttempts = 50*time.Millisecond, 2
	i := e.startKinds(kind)
	job := e.ends(i, e.enqueue(i, "endless", number(1)), jobs.Discarded)
	p.ran(2)
	if job.Attempt != 2 || len(job.Errors) != 2 || job.Errors[0].Error == "" {
		e.Errorf("after two timeouts: attempt %d, errors %s", job.Attempt, errorsOf(job))
	}
}

func timeoutNone(e *env) {
	bounded := make(chan bool, 2)
	p := e.probe(func(ctx context.Context, _ run) error {
		_, has := ctx.Deadline()
		bounded <- has
		return nil
	})
	endless, plain := p.kind("endless"), p.kind("plain")
	endless.Timeout = -1
	i := e.startKinds(endless, plain)
	e.enqueue(i, "endless", number(1))
	if soon(e, bounded, "the job without a timeout runs") {
		e.Errorf("a kind without a timeout has a deadline")
	}
	e.enqueue(i, "plain", number(1))
	if !soon(e, bounded, "the job with the default timeout runs") {
		e.Errorf("a kind with the default timeout has no deadline")
	}
}
