package jobstest

import (
	"context"
	"errors"
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
	waits := map[int]time.Duration{1: 400 * time.Millisecond, 2: 200 * time.Millisecond}
	p := e.sequence(errBoom, errBoom)
	kind := p.kind("slow")
	kind.Backoff = func(attempt int) time.Duration { return waits[attempt] }
	i := e.startKinds(kind)
	e.ends(i, e.enqueue(i, "slow", number(1)), jobs.Completed)
	before := p.next()
	for attempt := 1; attempt <= len(waits); attempt++ {
		after := p.next()
		if waited := after.At.Sub(before.At); waited < waits[attempt] {
			e.Errorf("attempt %d began %s after attempt %d, want at least %s", attempt+1, waited, attempt, waits[attempt])
		}
		before = after
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

func retryByHand(e *env) {
	fail := e.gate()
	p := e.probe(func(_ context.Context, r run) error {
		select {
		case <-fail.open:
			return nil
		default:
		}
		if numberIn(r.Args) == 0 {
			return nil
		}
		return errBoom
	})
	kind := p.kind("broken")
	kind.Backoff = func(int) time.Duration { return time.Hour }
	i := e.startKinds(kind)
	completed := e.enqueue(i, "broken", number(0))
	discarded := e.enqueue(i, "broken", number(1), jobs.EnqueueOpts{MaxAttempts: 1})
	retryable := e.enqueue(i, "broken", number(2))
	cancelled := e.enqueue(i, "broken", number(3), jobs.EnqueueOpts{RunAt: time.Now().Add(time.Hour)})
	e.cancel(i, cancelled)
	e.ends(i, completed, jobs.Completed)
	e.ends(i, discarded, jobs.Discarded)
	e.reaches(i, retryable, jobs.Retryable)
	fail.release()
	for _, id := range []jobs.JobID{completed, discarded, retryable, cancelled} {
		before := p.count()
		job, err := i.Inspector().Retry(e.ctx, id)
		e.ok(err, "retry by hand")
		if job.ID != id {
			e.Errorf("Retry answered job %q, want %q", job.ID, id)
		}
		e.eventually(func() (bool, string) { return p.count() == before+1, "a job retried by hand has not run again" })
		e.ends(i, id, jobs.Completed)
	}
	e.failedWith(e.get(i, discarded), "boom")
}

func retryLeavesUnfinished(e *env) {
	hold := e.gate()
	p := e.probe(func(ctx context.Context, _ run) error { return hold.pass(ctx) })
	i := e.startKinds(p.kind("held"))
	at := e.now().Add(time.Hour)
	pending, running := e.enqueue(i, "held", number(1), jobs.EnqueueOpts{RunAt: at}), e.enqueue(i, "held", number(2))
	p.next()
	for id, state := range map[jobs.JobID]jobs.State{pending: jobs.Pending, running: jobs.Running} {
		job, err := i.Inspector().Retry(e.ctx, id)
		e.ok(err, "retry")
		if job.State != state {
			e.Errorf("a %s job is %s after Retry", state, job.State)
		}
	}
	if got := e.get(i, pending).RunAt; !got.Equal(at.Truncate(time.Microsecond)) {
		e.Errorf("Retry moved the RunAt of a pending job from %s to %s", at, got)
	}
	hold.release()
	e.ends(i, running, jobs.Completed)
	p.ran(1)
}

func retryAfterReceipt(e *env) {
	const n = 12
	second := e.gate()
	again := make(chan jobs.JobID, n)
	p := e.probe(nil)
	runs := map[int]int{}
	p.act = func(ctx context.Context, r run) error {
		p.mu.Lock()
		key := numberIn(r.Args)
		runs[key]++
		repeated := runs[key] > 1
		p.mu.Unlock()
		if !repeated {
			return nil
		}
		again <- "began"
		return second.pass(ctx)
	}
	receipt, batch := p.kind("receipt"), e.probe(nil).kind("batch")
	receipt.Receipt = true
	i := e.start(Spec{Kinds: []jobs.Kind{receipt, batch}, Queues: map[string]int{"receipt": n}})
	ids := e.enqueueN(i, "receipt", n, jobs.EnqueueOpts{})
	for _, id := range ids {
		if state, final := i.Wait(e.ctx, id, e.h.Patience); state != jobs.Completed || !final {
			e.Fatalf("Wait for a receipt answered %q, %v", state, final)
		}
		_, err := i.Inspector().Retry(e.ctx, id)
		e.ok(err, "retry after the receipt")
	}
	for range n {
		soon(e, again, "a job retried after its receipt runs again")
	}
	for range 3 { // what others record, they have recorded what came before
		e.ends(i, e.enqueue(i, "batch", number(0)), jobs.Completed)
	}
	for _, id := range ids {
		if job := e.get(i, id); job.State != jobs.Running {
			e.Errorf("a job that runs again is %s: something late has ended it", job.State)
		}
	}
	second.release()
	e.endsAll(i, ids, jobs.Completed)
	p.ran(2 * n)
}

func retryNotFound(e *env) {
	i := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("plain")}})
	in := i.Inspector()
	for _, id := range strangeIDs() {
		_, get := in.Get(e.ctx, id)
		_, retry := in.Retry(e.ctx, id)
		_, cancel := in.Cancel(e.ctx, id)
		acknowledge := in.Acknowledge(e.ctx, id)
		for what, err := range map[string]error{"Get": get, "Retry": retry, "Cancel": cancel, "Acknowledge": acknowledge} {
			if !errors.Is(err, jobs.ErrNotFound) {
				e.Errorf("%s of %q answered %v, want ErrNotFound", what, id, err)
			}
		}
	}
}

// strangeIDs are ids that no adapter has answered: an id is opaque, so none of them is malformed.
func strangeIDs() []jobs.JobID {
	return []jobs.JobID{"404", "0", "-1", "", "nonsense", "99999999999999999999999", "1 or 1=1", "1\x00", "\xff"}
}
