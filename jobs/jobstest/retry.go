package jobstest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/jobs"
)

var errBoom = errors.New("boom")

func retryCases() []Case {
	return []Case{
		{Topic: "retry", Name: "until-success", run: retryUntilSuccess,
			Sentence: "An error spends an attempt and the job runs again, until it completes."},
		{Topic: "retry", Name: "last-attempt-discards", run: lastAttemptDiscards,
			Sentence: "The last attempt discards: a job runs MaxAttempts times and no more."},
		{Topic: "retry", Name: "backoff", run: retryBackoff,
			Sentence: "The wait before the next attempt is what the kind's Backoff gives for the attempt that failed."},
		{Topic: "retry", Name: "not-before", run: retryNotBefore,
			Sentence: "A job that failed does not run again before its Backoff is over."},
		{Topic: "retry", Name: "is-retryable-between", run: isRetryableBetween,
			Sentence: "A job that failed and waits for its next attempt is retryable, however short the wait: in Get, List and Overview."},
		{Topic: "retry", Name: "by-hand", run: retryByHand,
			Sentence: "Retry makes a job that is retryable or final run again now, whatever attempts it has spent."},
		{Topic: "retry", Name: "by-hand-leaves-unfinished", run: retryLeavesUnfinished,
			Sentence: "Retry leaves a job that is pending or running as it is."},
		{Topic: "retry", Name: "after-receipt", run: retryAfterReceipt,
			Sentence: "A job retried right after its receipt runs again and is not completed by anything late."},
		{Topic: "retry", Name: "not-found", run: retryNotFound,
			Sentence: "Acting on a job that is not there answers ErrNotFound."},
	}
}

func retryUntilSuccess(e *env) {
	p := e.sequence(errors.New("first"), errors.New("second"))
	i := e.startKinds(p.kind("flaky"))
	job := e.ends(i, e.enqueue(i, "flaky", number(1)), jobs.Completed)
	p.ran(3)
	if job.Attempt != 3 {
		e.Errorf("Attempt is %d, want 3", job.Attempt)
	}
	e.failedWith(job, "first", "second")
}

// failedWith fails the case where the job's attempts did not fail with these texts, in order and numbered from 1.
func (e *env) failedWith(job jobs.Job, texts ...string) {
	e.Helper()
	var want, got []string
	for n, text := range texts {
		want = append(want, attemptText(n+1, text))
	}
	for _, failed := range job.Errors {
		got = append(got, attemptText(failed.Attempt, failed.Error))
		if failed.At.IsZero() {
			e.Errorf("the error of attempt %d has no time", failed.Attempt)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("the job's attempt errors (-want +got):\n%s", diff)
	}
}

func lastAttemptDiscards(e *env) {
	p := e.sequence(errors.New("first"), errors.New("second"), errors.New("third"), errors.New("fourth"))
	kind := p.kind("failing")
	kind.MaxAttempts = 3
	i := e.startKinds(kind)
	ofKind := e.enqueue(i, "failing", number(1))
	job := e.ends(i, ofKind, jobs.Discarded)
	e.failedWith(job, "first", "second", "third")
	if job.FinishedAt == nil {
		e.Errorf("a discarded job has no FinishedAt")
	}
	p.ran(3)
	once := e.sequence(errBoom, errBoom)
	i = e.startKinds(once.kind("override"))
	job = e.ends(i, e.enqueue(i, "override", number(1), jobs.EnqueueOpts{MaxAttempts: 1}), jobs.Discarded)
	e.failedWith(job, "boom")
	once.ran(1)
}

func retryBackoff(e *env) {
	waits := map[int]time.Duration{1: time.Hour, 2: 3 * time.Hour}
	p := e.sequence(errBoom, errBoom)
	slow := p.kind("slow")
	slow.Backoff = func(attempt int) time.Duration { return waits[attempt] }
	i := e.startKinds(slow)
	id := e.enqueue(i, "slow", number(1))
	for attempt := 1; attempt <= len(waits); attempt++ {
		job := e.failedTimes(i, id, attempt)
		waited := job.RunAt.Sub(job.Errors[attempt-1].At)
		if want := waits[attempt]; (waited - want).Abs() > e.h.Patience {
			e.Errorf("after attempt %d the job is to run in %s, want %s", attempt, waited, want)
		}
		_, err := i.Inspector().Retry(e.ctx, id)
		e.ok(err, "retry by hand")
	}
	e.ends(i, id, jobs.Completed)
	p.ran(3)
}

// failedTimes waits until the job is retryable after n attempts.
func (e *env) failedTimes(i *instance, id jobs.JobID, n int) jobs.Job {
	e.Helper()
	var job jobs.Job
	e.eventually(func() (bool, string) {
		job = e.get(i, id)
		return job.State == jobs.Retryable && len(job.Errors) == n,
			fmt.Sprintf("the job is %s after %d errors, want retryable after %d; it is to run at %s", job.State, len(job.Errors), n, job.RunAt)
	})
	return job
}

func retryNotBefore(e *env) {
	const wait = 400 * time.Millisecond
	p := e.sequence(errBoom)
	kind := p.kind("slow")
	kind.Backoff = func(int) time.Duration { return wait }
	i := e.startKinds(kind)
	e.ends(i, e.enqueue(i, "slow", number(1)), jobs.Completed)
	first, second := p.next(), p.next()
	if waited := second.At.Sub(first.At); waited < wait {
		e.Errorf("attempt 2 began %s after attempt 1, want at least %s", waited, wait)
	}
}

func isRetryableBetween(e *env) {
	p := e.probe(func(context.Context, run) error { return errBoom })
	var kinds []jobs.Kind
	for name, wait := range map[string]time.Duration{"soon": 4 * time.Second, "later": time.Hour} {
		kind := p.kind(name)
		kind.Backoff = func(int) time.Duration { return wait }
		kinds = append(kinds, kind)
	}
	i := e.startKinds(kinds...)
	for _, kind := range kinds {
		id := e.enqueue(i, kind.Name, number(1))
		job := e.reaches(i, id, jobs.Retryable)
		if wait := kind.Backoff(1); job.AttemptedAt == nil || job.RunAt.Sub(*job.AttemptedAt) < wait {
			e.Errorf("%s: RunAt is %s after the attempt of %v, want %s later", kind.Name, job.RunAt, job.AttemptedAt, wait)
		}
		page := e.list(i, jobs.Filter{States: []jobs.State{jobs.Retryable}, Kinds: []string{kind.Name}})
		e.sameIDs("retryable jobs of "+kind.Name, []jobs.JobID{id}, idsOf(page.Jobs))
		pending := e.list(i, jobs.Filter{States: []jobs.State{jobs.Pending}, Kinds: []string{kind.Name}})
		e.sameIDs("pending jobs of "+kind.Name, nil, idsOf(pending.Jobs))
		overview := e.overview(i, kind.Name)
		if r, q := overview.States[jobs.Retryable].N, overview.States[jobs.Pending].N; r != 1 || q != 0 {
			e.Errorf("Overview of %s counts %d retryable and %d pending, want 1 and 0", kind.Name, r, q)
		}
	}
}
