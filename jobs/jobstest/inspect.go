package jobstest

import (
	"context"
	"errors"
	"slices"
	"time"

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
		{Name: "list-on-the-move", run: listFindsOnTheMove,
			Sentence: "A list finds a job that changes its state meanwhile."},
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
