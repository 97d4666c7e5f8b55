package jobstest

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/jobs"
)

// externalCases are the contract of kinds whose work is done outside of the Runtime.
func externalCases() []Case {
	cases := []Case{
		{Name: "claim", run: externalClaim,
			Sentence: "A claim answers the job with its args as enqueued, and the Inspector shows who holds it until when."},
		{Name: "one-holder", run: externalOneHolder,
			Sentence: "No two claims hold one job, however many are made at once."},
		{Name: "complete", run: externalComplete,
			Sentence: "Complete ends the job with its result, once; saying it again changes nothing."},
		{Name: "fail", run: externalFail,
			Sentence: "A failure keeps its error and spends an attempt; the last one discards the job."},
		{Name: "discard", run: externalDiscard,
			Sentence: "A failure that says discard ends the job, whatever attempts are left."},
		{Name: "snooze", run: externalSnooze,
			Sentence: "A failure that says snooze spends no attempt and does not come back before its time."},
		{Name: "backoff", run: externalBackoff,
			Sentence: "A failure that says no wait waits as the kind's Backoff says."},
		{Name: "lease-ends", run: externalLeaseEnds,
			Sentence: "A lease that ends unsettled gives the job to the next claim, with the attempt spent; who held it is refused."},
		{Name: "lease-ends-for-good", run: externalLeaseEndsForGood,
			Sentence: "A lease that ends at the last attempt discards the job, though nobody claims."},
		{Name: "extend", run: externalExtend,
			Sentence: "A lease that is extended outlives its first end, and nobody else gets the job."},
		{Name: "cancel", run: externalCancel, Needs: CancelRunning,
			Sentence: "Cancel of a job that a worker holds is told on extending, and ends it with the attempt."},
		{Name: "paused", run: externalPaused, Needs: PauseQueues,
			Sentence: "A paused queue is not claimed from."},
		{Name: "run-at", run: externalRunAt,
			Sentence: "A job is not claimed before its RunAt."},
		{Name: "left-alone", run: externalLeftAlone,
			Sentence: "Instances that declare an external kind neither run its jobs nor take them for lost."},
		{Name: "bad-input", run: externalBadInput,
			Sentence: "A claim or a lease that cannot be is refused as invalid and changes nothing."},
	}
	for i := range cases {
		cases[i].Topic = "external"
		if cases[i].Needs == "" {
			cases[i].Needs = External
		}
	}
	return cases
}

// outside declares an external kind.
func outside(name string, attempts int) jobs.Kind {
	return jobs.Kind{Name: name, External: true, MaxAttempts: attempts, Backoff: jobs.Steps(10 * time.Millisecond)}
}

func (e *env) claim(i *instance, c jobs.Claim) []jobs.Leased {
	e.Helper()
	if c.Worker == "" {
		c.Worker = "worker"
	}
	leased, err := i.Leases().Claim(e.ctx, c)
	e.ok(err, "claim")
	return leased
}

// claimOne waits for a job of the kind.
func (e *env) claimOne(i *instance, kind string, lease time.Duration) (leased jobs.Leased) {
	e.Helper()
	e.eventually(func() (bool, string) {
		got := e.claim(i, jobs.Claim{Kinds: []string{kind}, Lease: lease})
		if len(got) > 0 {
			leased = got[0]
		}
		return len(got) > 0, "no job of kind " + kind + " can be claimed"
	})
	return leased
}

func (e *env) fail(i *instance, id jobs.LeaseID, failure jobs.Failure, want jobs.State) {
	e.Helper()
	state, err := i.Leases().Fail(e.ctx, id, failure)
	e.ok(err, "fail")
	if state != want {
		e.Errorf("a job that failed is %s, want %s", state, want)
	}
}

// sameArgs compares JSON without loss.
func (e *env) sameArgs(what string, want, got json.RawMessage) {
	e.Helper()
	if diff := cmp.Diff(e.exact(want), e.exact(got)); diff != "" {
		e.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// lost fails the case where the lease still counts.
func (e *env) lost(i *instance, id jobs.LeaseID) {
	e.Helper()
	_, extended := i.Leases().Extend(e.ctx, id, time.Minute)
	_, failed := i.Leases().Fail(e.ctx, id, jobs.Failure{Error: "late"})
	for what, err := range map[string]error{
		"complete": i.Leases().Complete(e.ctx, id, nil), "extend": extended, "fail": failed,
	} {
		if !errors.Is(err, jobs.ErrLeaseLost) {
			e.Errorf("%s under a lost lease answered %v, want ErrLeaseLost", what, err)
		}
	}
}

func externalClaim(e *env) {
	i := e.startKinds(outside("render", 3))
	args := json.RawMessage(`{"order": 9007199254740993, "price": 1.50e3, "text": "it's <b>"}`)
	id := e.enqueue(i, "render", args, jobs.EnqueueOpts{Owner: "ann"})
	got := e.claimOne(i, "render", time.Minute)
	if got.Job != id || got.Kind != "render" || got.Owner != "ann" || got.Attempt != 1 || got.MaxAttempts != 3 {
		e.Errorf("claimed %+v, want job %s of ann, attempt 1 of 3", got, id)
	}
	e.sameArgs("args", args, got.Args)
	job := e.get(i, id)
	if job.State != jobs.Running || job.Instance != "worker" || job.Until == nil || !job.Until.Equal(got.Until) || job.Attempt != 1 {
		e.Errorf("a claimed job is shown as %s, held by %q until %v, attempt %d; want running, worker, %v, 1",
			job.State, job.Instance, job.Until, job.Attempt, got.Until)
	}
	if more := e.claim(i, jobs.Claim{Kinds: []string{"render"}, Most: 10}); len(more) != 0 {
		e.Errorf("a job that is held was claimed again: %+v", more)
	}
}

func externalOneHolder(e *env) {
	const total, workers = 120, 6
	i := e.startKinds(outside("render", 3), outside("other", 3))
	want := append(e.enqueueN(i, "render", total/2, jobs.EnqueueOpts{}), e.enqueueN(i, "other", total/2, jobs.EnqueueOpts{})...)
	var mu sync.Mutex
	var got []jobs.JobID
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range total {
				leased, err := i.Leases().Claim(e.ctx, jobs.Claim{Kinds: []string{"render", "other"}, Worker: "w", Most: 7, Lease: time.Minute})
				if err != nil {
					e.Errorf("claim: %v", err)
					return
				}
				mu.Lock()
				for _, l := range leased {
					got = append(got, l.Job)
				}
				done := len(got) >= total
				mu.Unlock()
				if done {
					return
				}
			}
		})
	}
	all.Wait()
	e.sameIDs("all claims together", want, got)
}

func externalComplete(e *env) {
	i := e.startKinds(outside("render", 3))
	id := e.enqueue(i, "render", number(1))
	got := e.claimOne(i, "render", time.Minute)
	e.ok(i.Leases().Complete(e.ctx, got.Lease, json.RawMessage(`{"pages": 9007199254740993}`)), "complete")
	e.ok(i.Leases().Complete(e.ctx, got.Lease, json.RawMessage(`{"pages": 2}`)), "complete again")
	job := e.ends(i, id, jobs.Completed)
	e.sameArgs("the result", json.RawMessage(`{"pages": 9007199254740993}`), job.Result)
	if state, final := i.Wait(e.ctx, id, time.Minute); state != jobs.Completed || !final {
		e.Errorf("Wait answered %s, %v", state, final)
	}
	if _, err := i.Leases().Fail(e.ctx, got.Lease, jobs.Failure{Error: "late"}); !errors.Is(err, jobs.ErrLeaseLost) {
		e.Errorf("a failure after the end answered %v, want ErrLeaseLost", err)
	}
	_, err := i.Inspector().Retry(e.ctx, id)
	e.ok(err, "retry")
	e.lost(i, got.Lease)
	if again := e.claimOne(i, "render", time.Minute); again.Job != id {
		e.Errorf("a retry by hand brought job %s, want %s", again.Job, id)
	}
}

func externalFail(e *env) {
	i := e.startKinds(outside("render", 2))
	id := e.enqueue(i, "render", number(1))
	first := e.claimOne(i, "render", time.Minute)
	e.fail(i, first.Lease, jobs.Failure{Error: "no paper"}, jobs.Retryable)
	second := e.claimOne(i, "render", time.Minute)
	if second.Attempt != 2 || second.Lease == first.Lease {
		e.Errorf("claimed again as attempt %d under lease %s; the first was %s", second.Attempt, second.Lease, first.Lease)
	}
	e.lost(i, first.Lease)
	e.fail(i, second.Lease, jobs.Failure{Error: "no ink"}, jobs.Discarded)
	e.failedWith(e.ends(i, id, jobs.Discarded), "no paper", "no ink")
}

func externalDiscard(e *env) {
	i := e.startKinds(outside("render", 5))
	id := e.enqueue(i, "render", number(1))
	e.fail(i, e.claimOne(i, "render", time.Minute).Lease, jobs.Failure{Error: "never", How: jobs.FailDiscard}, jobs.Discarded)
	e.failedWith(e.ends(i, id, jobs.Discarded), "never")
}

func externalSnooze(e *env) {
	const nap = 700 * time.Millisecond
	i := e.startKinds(outside("render", 1))
	id := e.enqueue(i, "render", number(1))
	first, wait := e.claimOne(i, "render", time.Minute), nap
	at := time.Now()
	e.fail(i, first.Lease, jobs.Failure{How: jobs.FailSnooze, Wait: &wait}, jobs.Pending)
	second := e.claimOne(i, "render", time.Minute)
	if waited := time.Since(at); waited < nap {
		e.Errorf("a snoozed job came back after %s, want at least %s", waited, nap)
	}
	job := e.get(i, id)
	if second.Attempt != 1 || job.Snoozes != 1 || len(job.Errors) != 0 {
		e.Errorf("after a snooze: attempt %d, %d snoozes, errors %s; want 1, 1, none", second.Attempt, job.Snoozes, errorsOf(job))
	}
}

func externalBackoff(e *env) {
	kind := outside("render", 3)
	kind.Backoff = jobs.Steps(time.Hour)
	i := e.startKinds(kind)
	id := e.enqueue(i, "render", number(1))
	e.fail(i, e.claimOne(i, "render", time.Minute).Lease, jobs.Failure{Error: "no"}, jobs.Retryable)
	job := e.get(i, id)
	if in := job.RunAt.Sub(job.Errors[0].At); in < 48*time.Minute || in > 73*time.Minute {
		e.Errorf("the next attempt is in %s, want about an hour", in)
	}
}

func externalLeaseEnds(e *env) {
	i := e.startKinds(outside("render", 3))
	id := e.enqueue(i, "render", number(1))
	first := e.claimOne(i, "render", time.Second)
	second := e.claimOne(i, "render", time.Minute)
	if second.Job != id || second.Attempt != 2 {
		e.Errorf("claimed job %s, attempt %d; want %s, attempt 2", second.Job, second.Attempt, id)
	}
	e.lost(i, first.Lease)
	job := e.get(i, id)
	if len(job.Errors) != 1 || job.State != jobs.Running {
		e.Errorf("after a lease that ended the job is %s with errors %s, want running and one", job.State, errorsOf(job))
	}
	e.ok(i.Leases().Complete(e.ctx, second.Lease, nil), "complete")
	e.ends(i, id, jobs.Completed)
}

func externalLeaseEndsForGood(e *env) {
	i := e.startKinds(outside("render", 1), e.probe(nil).kind("plain")) // an instance that works looks after others' leases
	id := e.enqueue(i, "render", number(1))
	held := e.claimOne(i, "render", time.Second)
	job := e.ends(i, id, jobs.Discarded)
	if len(job.Errors) != 1 {
		e.Errorf("errors %s, want one that says that the lease ended", errorsOf(job))
	}
	e.lost(i, held.Lease)
}

func externalExtend(e *env) {
	i := e.startKinds(outside("render", 3), e.probe(nil).kind("plain"))
	e.enqueue(i, "render", number(1))
	held := e.claimOne(i, "render", time.Second)
	for began := time.Now(); time.Since(began) < 3*time.Second; e.tick() {
		until, err := i.Leases().Extend(e.ctx, held.Lease, time.Second)
		e.ok(err, "extend")
		if until.Before(held.Until) {
			e.Fatalf("extended until %s, which is before %s", until, held.Until)
		}
		if other := e.claim(i, jobs.Claim{Kinds: []string{"render"}}); len(other) != 0 {
			e.Fatalf("a job whose lease is extended was claimed by another")
		}
	}
	e.ok(i.Leases().Complete(e.ctx, held.Lease, nil), "complete")
}

func externalCancel(e *env) {
	i := e.startKinds(outside("render", 3))
	id := e.enqueue(i, "render", number(1))
	held := e.claimOne(i, "render", time.Minute)
	e.cancel(i, id)
	if _, err := i.Leases().Extend(e.ctx, held.Lease, time.Minute); !errors.Is(err, jobs.ErrCancelAsked) {
		e.Errorf("extend of a job that was cancelled answered %v, want ErrCancelAsked", err)
	}
	e.fail(i, held.Lease, jobs.Failure{Error: "let go"}, jobs.Cancelled)
	e.ends(i, id, jobs.Cancelled)
	pending := e.enqueue(i, "render", number(2))
	e.cancel(i, pending)
	if got := e.claim(i, jobs.Claim{Kinds: []string{"render"}}); len(got) != 0 {
		e.Errorf("a cancelled job was claimed: %+v", got)
	}
}

func externalPaused(e *env) {
	i := e.startKinds(outside("render", 3), outside("other", 3))
	e.enqueue(i, "render", number(1))
	e.enqueue(i, "other", number(1))
	e.ok(i.Inspector().Pause(e.ctx, jobs.ExternalQueues+"render"), "pause")
	got := e.claim(i, jobs.Claim{Kinds: []string{"render", "other"}, Most: 10})
	if len(got) != 1 || got[0].Kind != "other" {
		e.Errorf("claimed %+v beside a paused queue, want the other", got)
	}
	e.ok(i.Inspector().Resume(e.ctx, jobs.ExternalQueues+"render"), "resume")
	e.claimOne(i, "render", time.Minute)
}

func externalRunAt(e *env) {
	const later = 1200 * time.Millisecond
	i := e.startKinds(outside("render", 3), e.probe(nil).kind("plain"))
	at := time.Now().Add(later)
	e.enqueue(i, "render", number(1), jobs.EnqueueOpts{RunAt: at})
	e.enqueue(i, "render", number(2), jobs.EnqueueOpts{RunAt: at.Add(time.Hour)})
	e.claimOne(i, "render", time.Minute)
	if early := time.Until(at); early > 0 {
		e.Errorf("a job was claimed %s before its RunAt", early)
	}
	if got := e.claim(i, jobs.Claim{Kinds: []string{"render"}}); len(got) != 0 {
		e.Errorf("a job of an hour from now was claimed: %+v", got)
	}
}

func externalLeftAlone(e *env) {
	i := e.startKinds(outside("render", 3))
	waiting := e.enqueue(i, "render", number(1))
	held := e.claimOne(i, "render", time.Minute)
	e.enqueue(i, "render", number(2))
	other := e.startKinds(outside("render", 3), e.probe(nil).kind("plain"))
	e.pass()
	e.ends(other, e.enqueue(other, "plain", number(1)), jobs.Completed)
	page := e.list(i, jobs.Filter{Kinds: []string{"render"}})
	var states []jobs.State
	for _, job := range page.Jobs {
		states = append(states, job.State)
	}
	if !slices.Equal(states, []jobs.State{jobs.Pending, jobs.Running}) {
		e.Errorf("jobs of an external kind are %v, want pending and running", states)
	}
	e.ok(i.Leases().Complete(e.ctx, held.Lease, nil), "complete")
	e.ends(i, waiting, jobs.Completed)
}

func externalBadInput(e *env) {
	i := e.startKinds(outside("render", 3))
	id := e.enqueue(i, "render", number(1))
	for what, c := range map[string]jobs.Claim{
		"no kinds": {Worker: "w"}, "no worker": {Kinds: []string{"render"}}, "a bad kind": {Kinds: []string{"A b"}, Worker: "w"},
		"too many": {Kinds: []string{"render"}, Worker: "w", Most: 101}, "too short": {Kinds: []string{"render"}, Worker: "w", Lease: 1},
		"too long": {Kinds: []string{"render"}, Worker: "w", Lease: 25 * time.Hour},
	} {
		if _, err := i.Leases().Claim(e.ctx, c); !errors.Is(err, jobs.ErrInvalid) {
			e.Errorf("a claim with %s answered %v, want ErrInvalid", what, err)
		}
	}
	for _, lease := range []jobs.LeaseID{"", "1", "nonsense", "1.2.3", "-1.2", "1; drop table", "99999999999999999999.1"} {
		if err := i.Leases().Complete(e.ctx, lease, nil); !errors.Is(err, jobs.ErrInvalid) {
			e.Errorf("lease %q was answered with %v, want ErrInvalid", lease, err)
		}
	}
	if err := i.Leases().Complete(e.ctx, "404.1", nil); !errors.Is(err, jobs.ErrLeaseLost) {
		e.Errorf("a lease of a job that is not there was answered with %v, want ErrLeaseLost", err)
	}
	held := e.claimOne(i, "render", time.Minute)
	if err := i.Leases().Complete(e.ctx, held.Lease, json.RawMessage(`{`)); !errors.Is(err, jobs.ErrInvalid) {
		e.Errorf("a result that is no JSON was answered with %v, want ErrInvalid", err)
	}
	if _, err := i.Leases().Fail(e.ctx, held.Lease, jobs.Failure{}); !errors.Is(err, jobs.ErrInvalid) {
		e.Errorf("a failure without an error was answered with %v, want ErrInvalid", err)
	}
	if state := e.get(i, id).State; state != jobs.Running {
		e.Errorf("after what was refused the job is %s, want running", state)
	}
}

func lacksExternal(e *env) {
	_, err := e.tryNew(Spec{Kinds: []jobs.Kind{outside("render", 3)}})
	e.unsupported(err, "New with an external kind")
}
