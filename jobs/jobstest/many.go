package jobstest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/postbus/postbus/jobs"
)

func manyCases() []Case {
	return []Case{
		{Topic: "bulk", Name: "count-by-filter", run: countByFilter,
			Sentence: "Count answers how many jobs match, exactly up to its limit, and says so where there are more."},
		{Topic: "bulk", Name: "ids-by-filter", run: idsByFilter,
			Sentence: "ListIDs answers what List does, in its order and with its cursors, as ids only."},
		{Topic: "bulk", Name: "acknowledge-by-filter", run: bulkAcknowledge,
			Sentence: "AcknowledgeMany takes note of the discarded jobs that match and no others, at most Limit of them, and answers how many."},
		{Topic: "bulk", Name: "bad-filter-refused", run: bulkBadFilter,
			Sentence: "A filter that cannot be meant is ErrInvalid to Count, ListIDs and every bulk act."},
		{Topic: "bulk", Name: "passes-what-cannot-be-retried", run: bulkPassesBlocked, Needs: UniqueByArgs,
			Sentence: "Called until it answers 0, RetryMany has retried all that can be, past newer jobs whose unique key another job holds."},
	}
}

func countByFilter(e *env) {
	i := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("plain")}})
	mine := e.enqueueN(i, "plain", 5, jobs.EnqueueOpts{Owner: "mine"})
	e.enqueueN(i, "plain", 3, jobs.EnqueueOpts{Owner: "theirs"})
	e.cancel(i, mine[0])
	pending := []jobs.State{jobs.Pending}
	first := e.list(i, jobs.Filter{Limit: 1})
	for what, query := range map[string]struct {
		filter jobs.Filter
		want   jobs.Count
	}{
		"all":                   {jobs.Filter{}, jobs.Count{N: 8}},
		"an owner's":            {jobs.Filter{Owner: "mine"}, jobs.Count{N: 5}},
		"an owner's in a state": {jobs.Filter{Owner: "mine", States: pending}, jobs.Count{N: 4}},
		"as many as the limit":  {jobs.Filter{Owner: "mine", States: pending, Limit: 4}, jobs.Count{N: 4}},
		"more than the limit":   {jobs.Filter{Owner: "mine", States: pending, Limit: 3}, jobs.Count{N: 3, About: true}},
		"of a kind without any": {jobs.Filter{Kinds: []string{"none"}}, jobs.Count{}},
		"of strange ids":        {jobs.Filter{IDs: strangeIDs()}, jobs.Count{}},
		"whatever the cursor":   {jobs.Filter{Owner: "mine", Cursor: first.Next}, jobs.Count{N: 5}},
	} {
		got, err := i.Inspector().Count(e.ctx, query.filter)
		e.ok(err, "count "+what)
		if got != query.want {
			e.Errorf("Count of jobs %s answered %+v, want %+v", what, got, query.want)
		}
	}
}

func idsByFilter(e *env) {
	i := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("plain")}})
	e.enqueueN(i, "plain", 9, jobs.EnqueueOpts{Owner: "mine"})
	e.enqueueN(i, "plain", 3, jobs.EnqueueOpts{Owner: "theirs"})
	want := idsOf(e.list(i, jobs.Filter{Owner: "mine"}).Jobs)
	for _, limit := range []int{1, 3, 4, 9, 100} {
		var got []jobs.JobID
		for cursor, pages := "", 0; pages == 0 || cursor != "" && pages < 20; pages++ {
			page, err := i.Inspector().ListIDs(e.ctx, jobs.Filter{Owner: "mine", Limit: limit, Cursor: cursor})
			e.ok(err, "list ids")
			if len(page.IDs) > limit {
				e.Fatalf("a page of at most %d has %d ids", limit, len(page.IDs))
			}
			got, cursor = append(got, page.IDs...), page.Next
		}
		if !slices.Equal(got, want) {
			e.Errorf("by pages of %d ListIDs answered %v, want what List does: %v", limit, got, want)
		}
	}
	page := e.list(i, jobs.Filter{Owner: "mine", Limit: 4})
	rest, err := i.Inspector().ListIDs(e.ctx, jobs.Filter{Owner: "mine", Cursor: page.Next})
	e.ok(err, "list ids from a page of List on")
	if !slices.Equal(rest.IDs, want[4:]) || rest.Next != "" {
		e.Errorf("after a page of List, ListIDs answered %v, want %v", rest.IDs, want[4:])
	}
}

func bulkAcknowledge(e *env) {
	i, ids := e.hopeless(5)
	other := e.enqueue(i, "elsewhere", number(1), jobs.EnqueueOpts{Queue: "hopeless", MaxAttempts: 1})
	e.cancel(i, other)
	filter := jobs.Filter{Kinds: []string{"hopeless"}, IDs: ids[1:], Limit: 3}
	for _, want := range []int{3, 1, 0} {
		got, err := i.Inspector().AcknowledgeMany(e.ctx, filter)
		e.ok(err, "acknowledge by filter")
		if got != want {
			e.Errorf("AcknowledgeMany answered %d, want %d", got, want)
		}
	}
	e.alerts(i, ids[0])
	for _, id := range ids[1:] {
		if job := e.get(i, id); job.State != jobs.Discarded || !job.Acknowledged {
			e.Errorf("job %s is %s, acknowledged: %v", id, job.State, job.Acknowledged)
		}
	}
	n, err := i.Inspector().AcknowledgeMany(e.ctx, jobs.Filter{States: []jobs.State{jobs.Cancelled}})
	e.ok(err, "acknowledge cancelled jobs")
	if n != 0 || e.get(i, other).Acknowledged {
		e.Errorf("AcknowledgeMany of cancelled jobs answered %d", n)
	}
}

func bulkBadFilter(e *env) {
	i := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("plain")}})
	id := e.enqueue(i, "plain", number(1))
	in := i.Inspector()
	bad := jobs.Filter{States: []jobs.State{"odd"}, Cursor: "nonsense"}
	_, count := in.Count(e.ctx, bad)
	_, list := in.ListIDs(e.ctx, bad)
	_, byCursor := in.CancelMany(e.ctx, jobs.Filter{Cursor: "nonsense"})
	for what, err := range map[string]error{"Count": count, "ListIDs": list, "CancelMany": byCursor} {
		if !errors.Is(err, jobs.ErrInvalid) {
			e.Errorf("%s of a filter that cannot be meant answered %v, want ErrInvalid", what, err)
		}
	}
	if state := e.get(i, id).State; state != jobs.Pending {
		e.Errorf("the job is %s", state)
	}
}

// The jobs that cannot be retried are the newer ones, and more than a call may change.
func bulkPassesBlocked(e *env) {
	const each, enough = 6, 20
	i := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("plain")}})
	free := e.enqueueN(i, "plain", each, once)
	var blocked, standing []jobs.JobID
	for n := range each {
		blocked = append(blocked, e.enqueue(i, "plain", number(100+n), once))
	}
	for _, id := range append(slices.Clone(free), blocked...) {
		e.cancel(i, id)
	}
	for n := range each {
		standing = append(standing, e.enqueue(i, "plain", number(100+n), once))
	}
	changed, calls := 0, 0
	for n := -1; n != 0; calls++ {
		if calls == enough {
			e.Fatalf("RetryMany has changed %d jobs of %d and does not come to an end", changed, each)
		}
		var err error
		n, err = i.Inspector().RetryMany(e.ctx, jobs.Filter{States: []jobs.State{jobs.Cancelled}, Limit: 4})
		e.ok(err, "retry by filter")
		if n > 4 {
			e.Errorf("RetryMany answered %d, want at most 4", n)
		}
		changed += n
	}
	if changed != each {
		e.Errorf("until it answered 0, RetryMany changed %d jobs, want %d", changed, each)
	}
	for state, ids := range map[jobs.State][]jobs.JobID{jobs.Pending: append(free, standing...), jobs.Cancelled: blocked} {
		e.sameIDs(fmt.Sprintf("%s jobs", state), ids, idsOf(e.list(i, jobs.Filter{States: []jobs.State{state}}).Jobs))
	}
}
