package jobstest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/postbus/postbus/jobs"
)

func enqueueCases() []Case {
	return []Case{
		{Topic: "enqueue", Name: "runs-and-completes", run: runsAndCompletes,
			Sentence: "A job that is made is run by its kind's handler; nil completes it."},
		{Topic: "enqueue", Name: "batch-in-order", run: batchInOrder,
			Sentence: "EnqueueMany answers the ids in the order of the batch; an empty batch makes nothing."},
		{Topic: "enqueue", Name: "batch-all-or-none", run: batchAllOrNone,
			Sentence: "EnqueueMany makes all the jobs or none."},
		{Topic: "enqueue", Name: "unknown-kind-refused", run: unknownKindRefused,
			Sentence: "A kind that this process does not declare is ErrUnknownKind unless its queue and attempts are given."},
		{Topic: "enqueue", Name: "unknown-kind-waits", run: unknownKindWaits,
			Sentence: "A job of a kind that no instance here declares is kept for one that does: not run, not failed, not discarded."},
		{Topic: "enqueue", Name: "options-are-kept", run: optionsAreKept,
			Sentence: "Owner, Trace, Queue and MaxAttempts are the job's; where they are not given, the kind's apply."},
		{Topic: "enqueue", Name: "bad-options-refused", run: badOptionsRefused,
			Sentence: "Attempts outside 1 to 1000 and a queue that is no name are ErrInvalid, and make nothing."},
	}
}

func runsAndCompletes(e *env) {
	p := e.probe(nil)
	i := e.startKinds(p.kind("plain"))
	first, second := e.enqueue(i, "plain", number(1)), e.enqueue(i, "plain", number(2))
	if first == second {
		e.Fatalf("two jobs have one id %s", first)
	}
	e.ends(i, first, jobs.Completed)
	e.ends(i, second, jobs.Completed)
	p.ran(2)
}

func batchInOrder(e *env) {
	p := e.probe(nil)
	i := e.create(Spec{Kinds: []jobs.Kind{p.kind("batch")}})
	for n, id := range e.enqueueN(i, "batch", 50, jobs.EnqueueOpts{}) {
		if got := numberIn(e.get(i, id).Args); got != n {
			e.Fatalf("id %d of the batch names the job with args %d", n, got)
		}
	}
	ids, err := i.EnqueueMany(e.ctx, nil)
	if err != nil || len(ids) != 0 {
		e.Errorf("an empty batch answered %v, %v", ids, err)
	}
}

func batchAllOrNone(e *env) {
	p := e.probe(nil)
	i := e.startKinds(p.kind("batch"), p.kind("after"))
	bad := map[string]jobs.EnqueueParams{
		"unknown kind": {Kind: "nobody", Args: number(2)},
		"bad args":     {Kind: "batch", Args: []int{1}},
		"bad attempts": {Kind: "batch", Args: number(2), Opts: jobs.EnqueueOpts{MaxAttempts: -1}},
	}
	for what, entry := range bad {
		batch := []jobs.EnqueueParams{{Kind: "batch", Args: number(1)}, entry, {Kind: "batch", Args: number(3)}}
		if ids, err := i.EnqueueMany(e.ctx, batch); err == nil || len(ids) != 0 {
			e.Errorf("%s: answered %v, %v", what, ids, err)
		}
	}
	e.ends(i, e.enqueue(i, "after", number(0)), jobs.Completed)
	e.noneOf(i, "batch")
	p.ran(1)
}

// noneOf fails the case where there is a job of the kind.
func (e *env) noneOf(i *instance, kind string) {
	e.Helper()
	if page := e.list(i, jobs.Filter{Kinds: []string{kind}}); len(page.Jobs) != 0 {
		e.Errorf("there are %d jobs of kind %s, want none", len(page.Jobs), kind)
	}
}

func unknownKindRefused(e *env) {
	i := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("known")}})
	for _, opts := range []jobs.EnqueueOpts{{}, {Queue: "elsewhere"}, {MaxAttempts: 3}} {
		_, err := i.Enqueue(e.ctx, "nobody", number(1), opts)
		if !errors.Is(err, jobs.ErrUnknownKind) {
			e.Errorf("with queue %q and %d attempts: got %v, want ErrUnknownKind", opts.Queue, opts.MaxAttempts, err)
		}
		if err != nil && !strings.Contains(err.Error(), "nobody") {
			e.Errorf("the error does not name the kind: %v", err)
		}
	}
	e.noneOf(i, "nobody")
}

func unknownKindWaits(e *env) {
	here, there := e.probe(nil), e.probe(nil)
	known := here.kind("known")
	known.Queue = "common"
	i := e.startKinds(known)
	id := e.enqueue(i, "foreign", number(1), jobs.EnqueueOpts{Queue: "common", MaxAttempts: 1})
	e.endsAll(i, e.enqueueN(i, "known", 5, jobs.EnqueueOpts{}), jobs.Completed)
	job := e.get(i, id)
	if job.State != jobs.Pending || job.Attempt != 0 || len(job.Errors) != 0 {
		e.Fatalf("the foreign job is %s after %d attempts: %s", job.State, job.Attempt, errorsOf(job))
	}
	foreign := there.kind("foreign")
	foreign.Queue = "common"
	other := e.start(Spec{App: "other", Kinds: []jobs.Kind{foreign}})
	e.ends(other, id, jobs.Completed)
	there.ran(1)
	here.ran(5)
}

func optionsAreKept(e *env) {
	kind := e.probe(nil).kind("plain")
	kind.MaxAttempts = 7
	i := e.create(Spec{Kinds: []jobs.Kind{kind}})
	given := e.get(i, e.enqueue(i, "plain", number(1), jobs.EnqueueOpts{
		Owner: "tenant-1", Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", Queue: "side", MaxAttempts: 3}))
	plain := e.get(i, e.enqueue(i, "plain", number(2)))
	keptFields := cmpopts.IgnoreFields(jobs.Job{}, "ID", "Args", "CreatedAt", "RunAt")
	want := jobs.Job{Kind: "plain", Queue: "side", State: jobs.Pending, Owner: "tenant-1",
		Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", MaxAttempts: 3}
	if diff := cmp.Diff(want, given, keptFields, cmpopts.EquateEmpty()); diff != "" {
		e.Errorf("with options (-want +got):\n%s", diff)
	}
	want = jobs.Job{Kind: "plain", Queue: "plain", State: jobs.Pending, MaxAttempts: 7}
	if diff := cmp.Diff(want, plain, keptFields, cmpopts.EquateEmpty()); diff != "" {
		e.Errorf("without (-want +got):\n%s", diff)
	}
	for _, at := range []time.Time{plain.CreatedAt, plain.RunAt} {
		if d := e.now().Sub(at).Abs(); d > time.Minute {
			e.Errorf("created at %s, to run at %s: %s away from the database's clock", plain.CreatedAt, plain.RunAt, d)
		}
	}
}

func badOptionsRefused(e *env) {
	i := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("plain")}})
	for _, opts := range []jobs.EnqueueOpts{{MaxAttempts: -1}, {MaxAttempts: 1001}, {Queue: "Not A Name"}, {Queue: "a..b"}} {
		if _, err := i.Enqueue(e.ctx, "plain", number(1), opts); !errors.Is(err, jobs.ErrInvalid) {
			e.Errorf("queue %q, %d attempts: got %v, want ErrInvalid", opts.Queue, opts.MaxAttempts, err)
		}
	}
	e.noneOf(i, "plain")
	for _, attempts := range []int{1, 1000} {
		job := e.get(i, e.enqueue(i, "plain", number(1), jobs.EnqueueOpts{MaxAttempts: attempts}))
		if job.MaxAttempts != attempts {
			e.Errorf("MaxAttempts is %d, want %d", job.MaxAttempts, attempts)
		}
	}
}

func idsOf(list []jobs.Job) []jobs.JobID {
	ids := make([]jobs.JobID, len(list))
	for n, job := range list {
		ids[n] = job.ID
	}
	return ids
}

// sameIDs fails the case where got does not hold exactly the ids of want, in any order.
func (e *env) sameIDs(what string, want, got []jobs.JobID) {
	e.Helper()
	want, got = slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		e.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
