package jobstest

import (
	"errors"
	"fmt"
	"time"

	"github.com/postbus/postbus/jobs"
)

func snoozeCases() []Case {
	return []Case{
		{Topic: "snooze", Name: "spends-no-attempt", run: snoozeSpendsNoAttempt,
			Sentence: "Snooze brings the job back without spending an attempt."},
		{Topic: "snooze", Name: "keeps-attempts", run: snoozeKeepsAttempts,
			Sentence: "Snooze keeps the attempts that were spent before it."},
		{Topic: "snooze", Name: "not-before", run: snoozeNotBefore,
			Sentence: "A snoozed job does not come back before its time."},
		{Topic: "snooze", Name: "is-pending", run: snoozeIsPending,
			Sentence: "A snoozed job is pending until it comes back, and can be cancelled."},
		{Topic: "snooze", Name: "wrapped", run: snoozeWrapped,
			Sentence: "An error that wraps a Snooze is one."},
	}
}

func snoozeSpendsNoAttempt(e *env) {
	p := e.sequence(jobs.Snooze(0), jobs.Snooze(time.Millisecond), jobs.Snooze(-time.Hour))
	kind := p.kind("sleepy")
	kind.MaxAttempts = 1
	i := e.startKinds(kind)
	job := e.ends(i, e.enqueue(i, "sleepy", number(1)), jobs.Completed)
	p.ran(4)
	if job.Attempt != 1 || job.MaxAttempts != 1 || job.Snoozes != 3 || len(job.Errors) != 0 {
		e.Errorf("after 3 snoozes: attempt %d of %d, %d snoozes, errors %s; want 1 of 1, 3, none",
			job.Attempt, job.MaxAttempts, job.Snoozes, errorsOf(job))
	}
}

func snoozeKeepsAttempts(e *env) {
	p := e.sequence(errors.New("first"), jobs.Snooze(0), jobs.Snooze(0), errors.New("second"), errors.New("third"))
	kind := p.kind("sleepy")
	kind.MaxAttempts = 2
	i := e.startKinds(kind)
	job := e.ends(i, e.enqueue(i, "sleepy", number(1)), jobs.Discarded)
	p.ran(4)
	e.failedWith(job, "first", "second")
	if job.Attempt != 2 || job.MaxAttempts != 2 || job.Snoozes != 2 {
		e.Errorf("attempt %d of %d after %d snoozes, want 2 of 2 after 2", job.Attempt, job.MaxAttempts, job.Snoozes)
	}
}

func snoozeNotBefore(e *env) {
	const nap = 700 * time.Millisecond
	p := e.sequence(jobs.Snooze(nap))
	i := e.startKinds(p.kind("sleepy"))
	e.ends(i, e.enqueue(i, "sleepy", number(1)), jobs.Completed)
	first, second := p.next(), p.next()
	if waited := second.At.Sub(first.At); waited < nap {
		e.Errorf("the job came back after %s, want at least %s", waited, nap)
	}
}

func snoozeIsPending(e *env) {
	naps := []time.Duration{time.Hour, 4 * time.Second}
	p := e.sequence(jobs.Snooze(naps[0]), jobs.Snooze(naps[1]))
	i := e.startKinds(p.kind("sleepy"))
	for n, nap := range naps {
		earliest := e.now().Add(nap)
		id := e.enqueue(i, "sleepy", number(n))
		var job jobs.Job
		e.eventually(func() (bool, string) {
			job = e.get(i, id)
			return job.Snoozes > 0, fmt.Sprintf("the job is %s with %d snoozes", job.State, job.Snoozes)
		})
		if job.State != jobs.Pending || job.Attempt != 0 || job.RunAt.Before(earliest) {
			e.Errorf("a snoozed job is %s after %d attempts, to run at %s, want %s or later", job.State, job.Attempt, job.RunAt, earliest)
		}
		if state := e.cancel(i, id).State; state != jobs.Cancelled {
			e.Errorf("a snoozed job is %s after Cancel", state)
		}
	}
	e.ends(i, e.enqueue(i, "sleepy", number(3)), jobs.Completed)
	p.ran(3)
}

func snoozeWrapped(e *env) {
	p := e.sequence(fmt.Errorf("not yet: %w", jobs.Snooze(0)), errors.Join(errBoom, jobs.Snooze(0)))
	kind := p.kind("sleepy")
	kind.MaxAttempts = 1
	i := e.startKinds(kind)
	if job := e.ends(i, e.enqueue(i, "sleepy", number(1)), jobs.Completed); job.Snoozes != 2 {
		e.Errorf("the job has %d snoozes, want 2", job.Snoozes)
	}
}
