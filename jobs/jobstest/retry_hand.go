package jobstest

import (
	"context"
	"errors"
	"time"

	"github.com/postbus/postbus/jobs"
)

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
