package jobstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/postbus/postbus/jobs"
)

// rescueWithin is the contract's bound from the death of an instance until its jobs run again.
const rescueWithin = 15 * time.Second

func rescueCases() []Case {
	return []Case{
		{Topic: "rescue", Name: "killed-instance", run: rescueKilled,
			Sentence: "A worker dies: its jobs run again within 15 s, at least once, while the jobs of the living are left alone."},
		{Topic: "rescue", Name: "unknown-kind", run: rescueUnknownKind,
			Sentence: "A dead instance's jobs of kinds that nobody alive declares go back to their queue; they are never discarded for it."},
		{Topic: "rescue", Name: "late-record", run: rescueLateRecord,
			Sentence: "What an attempt comes to after its job was rescued does not settle the attempt that runs now."},
		{Topic: "rescue", Name: "last-attempt", run: rescueLastAttempt,
			Sentence: "A job whose worker died in its last attempt is never left running: it runs again or ends as discarded."},
	}
}

// rescued waits, as long as the contract allows, until cond holds after a kill.
func (e *env) rescued(killed time.Time, cond func() (bool, string)) {
	e.Helper()
	for {
		ok, why := cond()
		if ok {
			return
		}
		if since := time.Since(killed); since > rescueWithin {
			e.Fatalf("not within %s of the kill: %s", rescueWithin, why)
		}
		e.tick()
	}
}

func rescueKilled(e *env) {
	hold := e.gate()
	doomed, second := e.probe(func(ctx context.Context, _ run) error { return hold.pass(ctx) }), e.probe(nil)
	living := e.probe(func(ctx context.Context, _ run) error { return hold.pass(ctx) })
	dying := e.startKinds(doomed.kind("doomed"))
	lost := e.enqueueN(dying, "doomed", 3, jobs.EnqueueOpts{})
	for range lost {
		doomed.next()
	}
	heir := e.startKinds(second.kind("doomed"), living.kind("living"))
	kept := e.enqueue(heir, "living", number(1))
	living.next()
	if job := e.get(heir, lost[0]); job.Instance != "shop-1" || job.State != jobs.Running {
		e.Errorf("the job is %s and held by %q, want running by shop-1", job.State, job.Instance)
	}
	dying.kill()
	killed := time.Now()
	for _, id := range lost {
		e.rescued(killed, func() (bool, string) {
			job := e.get(heir, id)
			return job.State == jobs.Completed, fmt.Sprintf("job %s is %s, held by %q", id, job.State, job.Instance)
		})
		if job := e.get(heir, id); job.Instance != "shop-2" {
			e.Errorf("the rescued job was held by %q, want shop-2", job.Instance)
		}
	}
	if job := e.get(heir, kept); job.State != jobs.Running || job.Attempt != 1 {
		e.Errorf("the living instance's job is %s in attempt %d", job.State, job.Attempt)
	}
	hold.release()
	e.ends(heir, kept, jobs.Completed)
	living.ran(1)
	second.ran(len(lost))
}

func rescueUnknownKind(e *env) {
	hold := e.gate()
	doomed := e.probe(func(ctx context.Context, _ run) error { return hold.pass(ctx) })
	dying := e.start(Spec{App: "reports", Kinds: []jobs.Kind{doomed.kind("report")}})
	other := e.start(Spec{App: "shop", Kinds: []jobs.Kind{e.probe(nil).kind("plain")}})
	id := e.enqueue(dying, "report", number(1))
	doomed.next()
	dying.kill()
	killed := time.Now()
	e.rescued(killed, func() (bool, string) {
		job := e.get(other, id)
		if job.State.Final() {
			e.Fatalf("the dead instance's job is %s: %s", job.State, errorsOf(job))
		}
		return job.State != jobs.Running, fmt.Sprintf("the job is %s, held by %q", job.State, job.Instance)
	})
	again := e.probe(nil)
	back := e.start(Spec{App: "reports", Kinds: []jobs.Kind{again.kind("report")}})
	e.ends(back, id, jobs.Completed)
	again.ran(1)
}

func rescueLateRecord(e *env) {
	late, hold := e.gate(), e.gate()
	first := e.probe(func(context.Context, run) error { late.passDeaf(); return nil })
	second := e.probe(func(ctx context.Context, _ run) error { return errors.Join(hold.pass(ctx), jobs.Discard(errBoom)) })
	partitioned := e.start(Spec{Kinds: []jobs.Kind{first.kind("plain")}, Grace: 100 * time.Millisecond})
	id := e.enqueue(partitioned, "plain", number(1))
	first.next()
	heir := e.startKinds(second.kind("plain"))
	partitioned.kill()
	killed := time.Now()
	e.rescued(killed, func() (bool, string) { return second.count() == 1, "the job has not begun again" })
	partitioned.heal()
	late.release()
	_ = partitioned.Stop(e.ctx) // it records what it has left, or says that it cannot
	e.pass()
	if job := e.get(heir, id); job.State != jobs.Running {
		e.Errorf("the late record made a job that runs elsewhere %s", job.State)
	}
	hold.release()
	e.ends(heir, id, jobs.Discarded)
	second.ran(1)
}

func rescueLastAttempt(e *env) {
	hold := e.gate()
	doomed, again := e.probe(func(ctx context.Context, _ run) error { return hold.pass(ctx) }), e.probe(nil)
	dying := e.startKinds(doomed.kind("doomed"))
	id := e.enqueue(dying, "doomed", json.RawMessage(`{}`), jobs.EnqueueOpts{MaxAttempts: 1})
	doomed.next()
	heir := e.startKinds(again.kind("doomed"))
	dying.kill()
	killed := time.Now()
	e.rescued(killed, func() (bool, string) {
		job := e.get(heir, id)
		return job.State.Final(), fmt.Sprintf("job %s is %s, held by %q", id, job.State, job.Instance)
	})
	job := e.get(heir, id)
	ranAgain, reported := again.count() == 1 && job.State == jobs.Completed, job.State == jobs.Discarded && len(job.Errors) > 0
	if !ranAgain && !reported {
		e.Errorf("the job is %s after %d more runs: %s", job.State, again.count(), errorsOf(job))
	}
}
