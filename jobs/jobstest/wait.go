package jobstest

import (
	"context"
	"errors"
	"time"

	"github.com/postbus/postbus/jobs"
)

func waitCases() []Case {
	return []Case{
		{Topic: "wait", Name: "until-the-end", run: waitUntilTheEnd,
			Sentence: "Wait waits until the job has ended and answers its state, for every final state."},
		{Topic: "wait", Name: "over-retries", run: waitOverRetries,
			Sentence: "A failed attempt is not the end of a job."},
		{Topic: "wait", Name: "at-max", run: waitAtMax,
			Sentence: "Wait waits at most max, and then answers the state that is not final."},
		{Topic: "wait", Name: "looks-first", run: waitLooksFirst,
			Sentence: "Wait looks at the row first: a job that has ended is answered at once, from any instance, started or not."},
		{Topic: "wait", Name: "not-there", run: waitNotThere,
			Sentence: `A job that does not exist, or not yet, gives ("", false) at once.`},
		{Topic: "wait", Name: "dead-database", run: waitDeadDatabase,
			Sentence: `A database that does not answer gives ("", false).`},
		{Topic: "wait", Name: "lost-notification", run: waitLostNotification,
			Sentence: "A lost notification costs a short poll, never the answer."},
		{Topic: "wait", Name: "many-waiters", run: waitManyWaiters,
			Sentence: "Any number may wait, on one job or on many, on the instance that runs them or on another."},
		{Topic: "wait", Name: "context", run: waitContext,
			Sentence: "Wait ends with its context."},
	}
}

type waited struct {
	state jobs.State
	final bool
	at    time.Time
}

// waiting begins to wait for the job and answers a channel that gets the answer.
func (e *env) waiting(i *instance, id jobs.JobID, max time.Duration) <-chan waited {
	answer := make(chan waited, 1)
	e.aside(func() {
		state, final := i.Wait(e.ctx, id, max)
		answer <- waited{state: state, final: final, at: time.Now()}
	})
	return answer
}

// answers fails the case where the waiting does not end with this state, as a final one.
func (e *env) answers(answer <-chan waited, want jobs.State) waited {
	e.Helper()
	got := soon(e, answer, "Wait answers "+string(want))
	if got.state != want || !got.final {
		e.Errorf("Wait answered %q, final: %v; want %q, true", got.state, got.final, want)
	}
	return got
}

// silent fails the case where the waiting has ended.
func (e *env) silent(answer <-chan waited) {
	e.Helper()
	select {
	case got := <-answer:
		e.Fatalf("Wait returned before the end: %q, final: %v", got.state, got.final)
	default:
	}
}

func waitUntilTheEnd(e *env) {
	ends := []error{nil, jobs.Discard(errBoom), nil}
	for _, name := range []string{"plain", "receipt"} {
		hold := e.gate()
		p := e.probe(func(ctx context.Context, r run) error {
			return errors.Join(hold.pass(ctx), ends[numberIn(r.Args)])
		})
		kind := p.kind(name)
		kind.Receipt = name == "receipt"
		i := e.startKinds(kind)
		ids := e.enqueueN(i, name, 2, jobs.EnqueueOpts{})
		ids = append(ids, e.enqueue(i, name, number(2), jobs.EnqueueOpts{RunAt: e.now().Add(time.Hour)}))
		p.next()
		p.next()
		var answers []<-chan waited
		for _, id := range ids {
			answers = append(answers, e.waiting(i, id, time.Hour))
		}
		e.pass()
		for _, answer := range answers {
			e.silent(answer)
		}
		hold.release()
		e.answers(answers[0], jobs.Completed)
		e.answers(answers[1], jobs.Discarded)
		e.cancel(i, ids[2])
		e.answers(answers[2], jobs.Cancelled)
	}
}

func waitOverRetries(e *env) {
	hold := e.gate()
	p := e.probe(func(ctx context.Context, r run) error {
		if r.N == 1 {
			return errBoom
		}
		return hold.pass(ctx)
	})
	kind := p.kind("flaky")
	kind.Receipt, kind.Backoff = true, func(int) time.Duration { return time.Hour }
	i := e.startKinds(kind)
	id := e.enqueue(i, "flaky", number(1))
	answer := e.waiting(i, id, time.Hour)
	e.reaches(i, id, jobs.Retryable)
	e.pass()
	e.silent(answer)
	_, err := i.Inspector().Retry(e.ctx, id)
	e.ok(err, "retry by hand")
	p.next()
	p.next()
	e.silent(answer)
	hold.release()
	e.answers(answer, jobs.Completed)
}

func waitAtMax(e *env) {
	const max = 300 * time.Millisecond
	hold := e.gate()
	p := e.probe(func(ctx context.Context, _ run) error { return hold.pass(ctx) })
	i := e.startKinds(p.kind("held"))
	running := e.enqueue(i, "held", number(1))
	p.next()
	pending := e.enqueue(i, "held", number(2), jobs.EnqueueOpts{RunAt: e.now().Add(time.Hour)})
	for id, want := range map[jobs.JobID]jobs.State{running: jobs.Running, pending: jobs.Pending} {
		began := time.Now()
		got := soon(e, e.waiting(i, id, max), "Wait waits at most max")
		if got.state != want || got.final {
			e.Errorf("Wait answered %q, final: %v; want %q, false", got.state, got.final, want)
		}
		if took := got.at.Sub(began); took < max || took > max+e.h.Patience/2 {
			e.Errorf("Wait took %s, want about %s", took, max)
		}
	}
	if state, final := i.Wait(e.ctx, running, 0); state != jobs.Running || final {
		e.Errorf("Wait of no time answered %q, final: %v; want running, false", state, final)
	}
}

func waitLooksFirst(e *env) {
	i := e.startKinds(e.probe(nil).kind("plain"))
	id := e.enqueue(i, "plain", number(1))
	e.ends(i, id, jobs.Completed)
	idle := e.create(Spec{App: "panel"})
	for _, at := range []*instance{i, idle} {
		for _, max := range []time.Duration{0, time.Hour} {
			e.answers(e.waiting(at, id, max), jobs.Completed)
		}
	}
}

func waitNotThere(e *env) {
	i := e.start(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("plain")}})
	for _, id := range strangeIDs() {
		if got := soon(e, e.waiting(i, id, time.Hour), "Wait for a job that does not exist answers at once"); got.state != "" || got.final {
			e.Errorf("Wait for %q answered %q, final: %v", id, got.state, got.final)
		}
	}
}

func waitDeadDatabase(e *env) {
	i := e.startKinds(e.probe(nil).kind("plain"))
	id := e.enqueue(i, "plain", number(1), jobs.EnqueueOpts{RunAt: e.now().Add(time.Hour)})
	i.kill()
	got := soon(e, e.waiting(i, id, 200*time.Millisecond), "Wait gives up on a database that does not answer")
	if got.state != "" || got.final {
		e.Errorf("Wait answered %q, final: %v", got.state, got.final)
	}
}

func waitLostNotification(e *env) {
	hold := e.gate()
	p := e.probe(func(ctx context.Context, _ run) error { return hold.pass(ctx) })
	kind := p.kind("receipt")
	kind.Receipt = true
	i := e.startKinds(kind)
	deaf := e.create(Spec{App: "panel"})
	e.begin(deaf)
	id := e.enqueue(i, "receipt", number(1))
	p.next()
	answer := e.waiting(deaf, id, time.Hour)
	e.pass()
	deaf.deafen()
	hold.release()
	e.answers(answer, jobs.Completed)
}

func waitManyWaiters(e *env) {
	const n = 100
	hold := e.gate()
	p := e.probe(func(ctx context.Context, _ run) error { return hold.pass(ctx) })
	kind := p.kind("receipt")
	kind.Receipt = true
	i := e.start(Spec{Kinds: []jobs.Kind{kind}, Queues: map[string]int{"receipt": 20}})
	other := e.start(Spec{App: "panel"})
	var answers []<-chan waited
	for _, id := range e.enqueueN(i, "receipt", n, jobs.EnqueueOpts{}) {
		answers = append(answers, e.waiting(i, id, time.Hour))
	}
	popular := e.enqueue(i, "receipt", number(n))
	for k := range n {
		answers = append(answers, e.waiting([]*instance{i, other}[k%2], popular, time.Hour))
	}
	hold.release()
	for _, answer := range answers {
		e.answers(answer, jobs.Completed)
	}
}

func waitContext(e *env) {
	i := e.startKinds(e.probe(nil).kind("plain"))
	id := e.enqueue(i, "plain", number(1), jobs.EnqueueOpts{RunAt: e.now().Add(time.Hour)})
	ctx, cancel := context.WithCancel(e.ctx)
	answer := make(chan waited, 1)
	e.aside(func() {
		state, final := i.Wait(ctx, id, time.Hour)
		answer <- waited{state: state, final: final}
	})
	e.pass()
	e.silent(answer)
	cancel()
	if got := soon(e, answer, "Wait ends with its context"); got.final {
		e.Errorf("Wait answered %q as final", got.state)
	}
}
