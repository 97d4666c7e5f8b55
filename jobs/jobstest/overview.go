package jobstest

import (
	"context"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/jobs"
)

// everyState starts an instance with one job of kind "plain" in every state, and one pending of kind "other".
func (e *env) everyState() (*instance, map[jobs.State]jobs.JobID) {
	e.Helper()
	hold := e.gate()
	ends := map[int]error{1: nil, 2: errBoom, 3: jobs.Discard(errBoom)}
	p := e.probe(func(ctx context.Context, r run) error {
		if n := numberIn(r.Args); n > 0 {
			return ends[n]
		}
		return hold.pass(ctx)
	})
	kind := p.kind("plain")
	kind.Backoff = func(int) time.Duration { return time.Hour }
	i := e.startKinds(kind)
	later := jobs.EnqueueOpts{RunAt: e.now().Add(time.Hour)}
	all := map[jobs.State]jobs.JobID{
		jobs.Pending:   e.enqueue(i, "plain", number(1), later),
		jobs.Running:   e.enqueue(i, "plain", number(0)),
		jobs.Retryable: e.enqueue(i, "plain", number(2)),
		jobs.Completed: e.enqueue(i, "plain", number(1)),
		jobs.Discarded: e.enqueue(i, "plain", number(3)),
		jobs.Cancelled: e.enqueue(i, "plain", number(1), later),
	}
	e.cancel(i, all[jobs.Cancelled])
	for state, id := range all {
		e.reaches(i, id, state)
	}
	e.enqueue(i, "other", number(1), jobs.EnqueueOpts{Queue: "other", MaxAttempts: 1})
	return i, all
}

func overviewCounts(e *env) {
	i, _ := e.everyState()
	for kind, pending := range map[string]int64{"plain": 1, "": 2} {
		overview := e.overview(i, kind)
		for _, state := range jobs.States() {
			want := int64(1)
			if state == jobs.Pending {
				want = pending
			}
			got := overview.States[state]
			unfinished := !state.Final() || state == jobs.Discarded
			if got.N != want && (unfinished || !got.About) || got.About && unfinished {
				e.Errorf("Overview(%q) counts %d %s (about: %v), want %d", kind, got.N, state, got.About, want)
			}
		}
	}
	one := jobs.Count{N: 1}
	want := map[string]jobs.KindCounts{
		"plain": {Pending: one, Running: one, Retryable: one, Discarded: one},
		"other": {Pending: one},
	}
	if diff := cmp.Diff(want, e.overview(i, "").Kinds); diff != "" {
		e.Errorf("per kind (-want +got):\n%s", diff)
	}
	if none := e.overview(i, "nothing"); none.States[jobs.Pending].N != 0 || none.Unacked.N != 0 || none.OldestPending != nil {
		e.Errorf("Overview of a kind without jobs is %+v", none)
	}
}

func unfinished(e *env) {
	i, all := e.everyState()
	ids := []jobs.JobID{"404", "nonsense"}
	for _, id := range all {
		ids = append(ids, id, id)
	}
	got, err := i.Inspector().Unfinished(e.ctx, ids)
	e.ok(err, "unfinished")
	slices.Sort(got)
	e.sameIDs("unfinished jobs", []jobs.JobID{all[jobs.Pending], all[jobs.Running], all[jobs.Retryable]}, slices.Compact(got))
	if none, err := i.Inspector().Unfinished(e.ctx, nil); err != nil || len(none) != 0 {
		e.Errorf("of no ids, Unfinished answered %v, %v", none, err)
	}
}

func (e *env) queue(i *instance, name string) jobs.QueueStatus {
	e.Helper()
	all, err := i.Inspector().Queues(e.ctx)
	e.ok(err, "list queues")
	for _, queue := range all {
		if queue.Name == name {
			return queue
		}
	}
	e.Fatalf("queue %s is not among %d", name, len(all))
	return jobs.QueueStatus{}
}

func inspectQueues(e *env) {
	i, _ := e.everyState()
	one := jobs.Count{N: 1}
	want := jobs.QueueStatus{Name: "plain", Workers: defaultWorkers, Pending: one, Running: one, Retryable: one}
	if diff := cmp.Diff(want, e.queue(i, "plain")); diff != "" {
		e.Errorf("a queue of this process (-want +got):\n%s", diff)
	}
	want = jobs.QueueStatus{Name: "other", Pending: one}
	if diff := cmp.Diff(want, e.queue(i, "other")); diff != "" {
		e.Errorf("a queue that only has jobs (-want +got):\n%s", diff)
	}
}
