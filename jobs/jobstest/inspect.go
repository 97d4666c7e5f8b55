package jobstest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/jobs"
)

func inspectCases() []Case {
	cases := []Case{
		{Name: "get-the-whole-job", run: getTheWholeJob,
			Sentence: "Get answers one job as it stands: when it was made, began and ended, and who held it; all times are UTC."},
		{Name: "get-every-error", run: getEveryError,
			Sentence: "Get answers every attempt's error, in order, over retries by hand too."},
		{Name: "list-newest-first", run: listNewestFirst,
			Sentence: "List answers the newest jobs first, 50 unless the limit says otherwise and at most 200 a page."},
		{Name: "pages-are-seamless", run: pagesAreSeamless,
			Sentence: "Pages neither skip nor repeat a job at their edges, while jobs arrive and for jobs made at one instant."},
		{Name: "list-filters", run: listFilters,
			Sentence: "Every field of a Filter selects, and they select together; zero fields do not select."},
		{Name: "list-filter-args", run: listFilterArgs, Needs: FilterArgs,
			Sentence: "Filter.Args selects the jobs whose args contain it, big integers told apart."},
		{Name: "bad-filter-refused", run: badFilterRefused,
			Sentence: "A cursor that no page answered and a filter that is no JSON object are ErrInvalid."},
		{Name: "overview-counts", run: overviewCounts,
			Sentence: "Overview counts jobs per state, of one kind or of all, and per kind what needs a worker or an operator."},
		{Name: "unfinished", run: unfinished,
			Sentence: "Unfinished answers those of the ids that have not ended."},
		{Name: "queues", run: inspectQueues,
			Sentence: "Queues lists the queues with their workers and their unfinished jobs."},
	}
	for n := range cases {
		cases[n].Topic = "inspect"
	}
	return cases
}

func getTheWholeJob(e *env) {
	hold := e.gate()
	p := e.probe(func(ctx context.Context, _ run) error { return hold.pass(ctx) })
	i := e.startKinds(p.kind("held"))
	before := e.now()
	id := e.enqueue(i, "held", number(1))
	p.next()
	job := e.get(i, id)
	if job.ID != id || job.State != jobs.Running || job.Attempt != 1 || job.Instance != "shop-1" || job.AttemptedAt == nil || job.FinishedAt != nil {
		e.Fatalf("the running job is %+v", job)
	}
	hold.release()
	job = e.ends(i, id, jobs.Completed)
	if job.AttemptedAt == nil || job.FinishedAt == nil || job.Instance != "shop-1" || len(job.Errors) != 0 {
		e.Fatalf("the completed job is %+v", job)
	}
	times := []time.Time{before, job.CreatedAt, *job.AttemptedAt, *job.FinishedAt, e.now()}
	if !slices.IsSortedFunc(times, time.Time.Compare) {
		e.Errorf("before, CreatedAt, AttemptedAt, FinishedAt and now are out of order: %v", times)
	}
	for _, at := range []time.Time{job.CreatedAt, job.RunAt, *job.AttemptedAt, *job.FinishedAt} {
		if at.Location() != time.UTC {
			e.Errorf("%s is in %s, want UTC", at, at.Location())
		}
	}
}

func getEveryError(e *env) {
	p := e.sequence(errors.New("first"), errors.New("second"), errors.New("third"), errors.New("fourth"))
	kind := p.kind("failing")
	kind.MaxAttempts = 3
	i := e.startKinds(kind)
	id := e.enqueue(i, "failing", number(1))
	e.failedWith(e.ends(i, id, jobs.Discarded), "first", "second", "third")
	_, err := i.Inspector().Retry(e.ctx, id)
	e.ok(err, "retry by hand")
	e.eventually(func() (bool, string) {
		job := e.get(i, id)
		return p.count() >= 4 && job.State.Final() || p.count() >= 5, errorsOf(job)
	})
	job := e.get(i, id)
	if len(job.Errors) < 4 {
		e.Fatalf("after a retry by hand the errors are %s, want first to fourth", errorsOf(job))
	}
	job.Errors = job.Errors[:4]
	e.failedWith(job, "first", "second", "third", "fourth")
}

func listNewestFirst(e *env) {
	i := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("plain")}})
	ids := e.enqueueN(i, "plain", 205, jobs.EnqueueOpts{})
	last := e.enqueue(i, "plain", number(205))
	for limit, want := range map[int]int{0: 50, 1: 1, 200: 200, 1000: 200} {
		page := e.list(i, jobs.Filter{Limit: limit})
		if len(page.Jobs) != want || page.Next == "" || page.Jobs[0].ID != last {
			e.Errorf("limit %d: %d jobs, next %q, want %d, the newest first and more to come", limit, len(page.Jobs), page.Next, want)
		}
		newest := func(a, b jobs.Job) int { return b.CreatedAt.Compare(a.CreatedAt) }
		if !slices.IsSortedFunc(page.Jobs, newest) {
			e.Errorf("limit %d: not the newest first", limit)
		}
	}
	page := e.list(i, jobs.Filter{IDs: ids[:3]})
	if len(page.Jobs) != 3 || page.Next != "" {
		e.Errorf("a list of 3 has %d jobs and says %q is next", len(page.Jobs), page.Next)
	}
}

func pagesAreSeamless(e *env) {
	i := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("plain")}})
	want := e.enqueueN(i, "plain", 20, jobs.EnqueueOpts{}) // of one instant
	for n := range 5 {
		want = append(want, e.enqueue(i, "plain", number(n)))
	}
	for _, limit := range []int{1, 4, 5, 25} {
		filter := jobs.Filter{Limit: limit}
		var got []jobs.JobID
		for {
			page := e.list(i, filter)
			if len(page.Jobs) > limit {
				e.Fatalf("a page of at most %d has %d jobs", limit, len(page.Jobs))
			}
			got = append(got, idsOf(page.Jobs)...)
			if filter.Cursor = page.Next; page.Next == "" || len(got) > 2*len(want) {
				break
			}
			e.enqueue(i, "plain", number(limit), jobs.EnqueueOpts{Owner: "late"}) // arrives in front of what was seen
		}
		e.sameIDs("the pages together", want, got)
		late := idsOf(e.list(i, jobs.Filter{Owner: "late", Limit: 200}).Jobs)
		want = append(want, late...) // for the next limit these stand
		slices.Sort(want)
		want = slices.Compact(want)
	}
}

func listFilters(e *env) {
	i := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("a"), e.probe(nil).kind("b")}})
	a1 := e.enqueue(i, "a", number(1), jobs.EnqueueOpts{Owner: "x"})
	a2 := e.enqueue(i, "a", number(2), jobs.EnqueueOpts{Owner: "y", Queue: "side"})
	b1 := e.enqueue(i, "b", number(1), jobs.EnqueueOpts{Owner: "x"})
	b2 := e.enqueue(i, "b", number(2))
	e.cancel(i, b2)
	created := e.get(i, b1).CreatedAt
	for what, query := range map[string]struct {
		filter jobs.Filter
		want   []jobs.JobID
	}{
		"nothing":         {jobs.Filter{}, []jobs.JobID{a1, a2, b1, b2}},
		"a kind":          {jobs.Filter{Kinds: []string{"a"}}, []jobs.JobID{a1, a2}},
		"two kinds":       {jobs.Filter{Kinds: []string{"a", "b"}}, []jobs.JobID{a1, a2, b1, b2}},
		"a queue":         {jobs.Filter{Queues: []string{"side"}}, []jobs.JobID{a2}},
		"a state":         {jobs.Filter{States: []jobs.State{jobs.Cancelled}}, []jobs.JobID{b2}},
		"two states":      {jobs.Filter{States: []jobs.State{jobs.Pending, jobs.Running}}, []jobs.JobID{a1, a2, b1}},
		"an owner":        {jobs.Filter{Owner: "x"}, []jobs.JobID{a1, b1}},
		"after":           {jobs.Filter{After: created}, []jobs.JobID{b1, b2}},
		"before":          {jobs.Filter{Before: created}, []jobs.JobID{a1, a2}},
		"ids":             {jobs.Filter{IDs: []jobs.JobID{a2, b2, "404", "nonsense"}}, []jobs.JobID{a2, b2}},
		"kind and owner":  {jobs.Filter{Kinds: []string{"a"}, Owner: "x"}, []jobs.JobID{a1}},
		"what no job has": {jobs.Filter{Kinds: []string{"a"}, States: []jobs.State{jobs.Cancelled}}, nil},
		"nobody's ids":    {jobs.Filter{IDs: []jobs.JobID{"404"}}, nil},
		"only strange":    {jobs.Filter{IDs: []jobs.JobID{"nonsense"}}, nil},
	} {
		e.sameIDs("filter by "+what, query.want, idsOf(e.list(i, query.filter).Jobs))
	}
}

func listFilterArgs(e *env) {
	i := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("plain")}})
	one := e.enqueue(i, "plain", json.RawMessage(`{"order": 9007199254740993, "lines": [{"sku": "a"}, {"sku": "b"}]}`))
	two := e.enqueue(i, "plain", json.RawMessage(`{"order": 9007199254740992, "lines": [{"sku": "b"}], "note": "it's"}`))
	for args, want := range map[string][]jobs.JobID{
		`{}`:                            {one, two},
		`{"order": 9007199254740993}`:   {one},
		`{"order": 9007199254740992}`:   {two},
		`{"lines": [{"sku": "b"}]}`:     {one, two},
		`{"lines": [{"sku": "a"}]}`:     {one},
		`{"note": "it's"}`:              {two},
		`{"order": "9007199254740992"}`: nil,
		`{"note": null}`:                nil,
	} {
		page := e.list(i, jobs.Filter{Args: json.RawMessage(args)})
		e.sameIDs("filter by args "+args, want, idsOf(page.Jobs))
	}
}

func badFilterRefused(e *env) {
	i := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("plain")}})
	for _, filter := range []jobs.Filter{
		{Cursor: "nonsense"}, {Cursor: "1 or 1=1"}, {Cursor: "\x00"}, {Args: json.RawMessage(`[1]`)}, {Args: json.RawMessage(`{`)},
		{States: []jobs.State{"asleep"}},
	} {
		if _, err := i.Inspector().List(e.ctx, filter); !errors.Is(err, jobs.ErrInvalid) {
			e.Errorf("filter %+v was answered with %v, want ErrInvalid", filter, err)
		}
		if _, err := i.Inspector().CancelMany(e.ctx, filter); filter.Cursor == "" && !errors.Is(err, jobs.ErrInvalid) {
			e.Errorf("CancelMany by filter %+v was answered with %v, want ErrInvalid", filter, err)
		}
	}
}

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
