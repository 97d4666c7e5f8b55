package jobstest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/postbus/postbus/jobs"
)

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

func listFindsOnTheMove(e *env) {
	restless := e.probe(func(context.Context, run) error { return jobs.Snooze(0) })
	i := e.startKinds(restless.kind("restless"))
	e.enqueue(i, "restless", number(1))
	for range 300 {
		if page := e.list(i, jobs.Filter{Kinds: []string{"restless"}}); len(page.Jobs) != 1 {
			e.Fatalf("a list by kind has %d jobs, want the one, whatever state it is in", len(page.Jobs))
		}
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
