package jobstest

import (
	"context"
	"errors"
	"strings"

	"github.com/postbus/postbus/jobs"
)

func panicCases() []Case {
	return []Case{
		{Topic: "panic", Name: "spends-an-attempt", run: panicSpendsAnAttempt,
			Sentence: "A panic spends an attempt and retries; its value and its stack are kept."},
		{Topic: "panic", Name: "last-discards", run: panicLastDiscards,
			Sentence: "A panic in the last attempt discards."},
		{Topic: "panic", Name: "worker-survives", run: panicWorkerSurvives,
			Sentence: "A panic costs no worker: the next job of the queue runs."},
	}
}

func panicSpendsAnAttempt(e *env) {
	p := e.probe(func(_ context.Context, r run) error {
		if r.N == 1 {
			explode("the sky fell")
		}
		return nil
	})
	i := e.startKinds(p.kind("explosive"))
	job := e.ends(i, e.enqueue(i, "explosive", number(1)), jobs.Completed)
	p.ran(2)
	if job.Attempt != 2 || len(job.Errors) != 1 {
		e.Fatalf("after one panic: attempt %d, errors %s", job.Attempt, errorsOf(job))
	}
	failed := job.Errors[0]
	if failed.Attempt != 1 || !strings.Contains(failed.Error, "the sky fell") {
		e.Errorf("the panic is recorded as attempt %d: %s", failed.Attempt, failed.Error)
	}
	if !strings.Contains(failed.Stack, "explode") {
		e.Errorf("the stack does not lead to the panic:\n%.2000s", failed.Stack)
	}
}

func explode(value any) { panic(value) }

func panicLastDiscards(e *env) {
	values := []any{errors.New("an error"), 42, strings.Repeat("long ", 1<<20), "nul \x00 in it"}
	p := e.probe(func(_ context.Context, r run) error { panic(values[numberIn(r.Args)]) })
	kind := p.kind("explosive")
	kind.MaxAttempts = 1
	i := e.startKinds(kind)
	for n, id := range e.enqueueN(i, "explosive", len(values), jobs.EnqueueOpts{}) {
		job := e.ends(i, id, jobs.Discarded)
		want := []string{"an error", "42", "long", "nul"}[n]
		if len(job.Errors) != 1 || !strings.Contains(job.Errors[0].Error, want) {
			e.Errorf("a panic with %q is recorded as %.200s", want, errorsOf(job))
		}
	}
	p.ran(len(values))
}

func panicWorkerSurvives(e *env) {
	p, calm := e.probe(func(context.Context, run) error { panic("boom") }), e.probe(nil)
	explosive, plain := p.kind("explosive"), calm.kind("plain")
	explosive.MaxAttempts, plain.Queue = 1, explosive.Queue
	i := e.start(Spec{Kinds: []jobs.Kind{explosive, plain}, Queues: map[string]int{"explosive": 1}})
	e.endsAll(i, e.enqueueN(i, "explosive", 3, jobs.EnqueueOpts{}), jobs.Discarded)
	e.ends(i, e.enqueue(i, "plain", number(1)), jobs.Completed)
}
