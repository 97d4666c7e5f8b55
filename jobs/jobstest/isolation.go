package jobstest

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/postbus/postbus/jobs"
)

func isolationCases() []Case {
	return []Case{
		{Topic: "isolation", Name: "blocked-queue", run: blockedQueue,
			Sentence: "A blocked queue, however long, never delays another."},
		{Topic: "isolation", Name: "one-worker-at-a-time", run: oneWorkerAtATime,
			Sentence: "A job is held by one worker at a time, over all instances."},
		{Topic: "isolation", Name: "workers-are-the-limit", run: workersAreTheLimit,
			Sentence: "An instance runs as many jobs of a queue at once as the queue has workers, and no more."},
	}
}

func blockedQueue(e *env) {
	hold := e.gate()
	stuck, free := e.probe(func(ctx context.Context, _ run) error { return hold.pass(ctx) }), e.probe(nil)
	i := e.start(Spec{Kinds: []jobs.Kind{stuck.kind("stuck"), free.kind("free")}, Queues: map[string]int{"stuck": 2}})
	blocked := e.enqueueN(i, "stuck", 60, jobs.EnqueueOpts{})
	stuck.next()
	stuck.next()
	for n := range 5 { // behind the block
		e.ends(i, e.enqueue(i, "free", number(n)), jobs.Completed)
	}
	stuck.ran(2)
	free.ran(5)
	hold.release()
	e.endsAll(i, blocked, jobs.Completed)
}

func oneWorkerAtATime(e *env) {
	const n = 8
	hold := e.gate()
	var mu sync.Mutex
	held, twice := map[int]bool{}, false
	p := e.probe(func(ctx context.Context, r run) error {
		key := numberIn(r.Args)
		mu.Lock()
		twice = twice || held[key]
		held[key] = true
		mu.Unlock()
		err := hold.pass(ctx)
		mu.Lock()
		defer mu.Unlock()
		held[key] = false
		return err
	})
	one, _ := e.startKinds(p.kind("held")), e.startKinds(p.kind("held"))
	ids := e.enqueueN(one, "held", n, jobs.EnqueueOpts{})
	for range n {
		p.next()
	}
	hold.release()
	e.endsAll(one, ids, jobs.Completed)
	mu.Lock()
	defer mu.Unlock()
	if twice {
		e.Errorf("a job ran twice at once")
	}
	p.ran(n)
}

func workersAreTheLimit(e *env) {
	const workers, n = 3, 24
	hold := e.gate()
	var atOnce, most atomic.Int32
	p := e.probe(func(ctx context.Context, _ run) error {
		now := atOnce.Add(1)
		defer atOnce.Add(-1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		return hold.pass(ctx)
	})
	i := e.start(Spec{Kinds: []jobs.Kind{p.kind("busy")}, Queues: map[string]int{"busy": workers}})
	ids := e.enqueueN(i, "busy", n, jobs.EnqueueOpts{})
	for range workers {
		p.next()
	}
	e.pass()
	p.ran(workers)
	hold.release()
	e.endsAll(i, ids, jobs.Completed)
	if got := most.Load(); got != workers {
		e.Errorf("%d jobs ran at once, want %d", got, workers)
	}
	p.ran(n)
}
