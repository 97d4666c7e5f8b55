package faults

import (
	"context"

	"github.com/postbus/postbus/jobs"
)

// looking are faults of what an Inspector shows.
func looking() []Fault {
	return []Fault{
		{Name: "Get loses attempt errors", Case: "inspect/get-every-error", Says: "the job's attempt errors", seed: shows(func(job *jobs.Job) {
			job.Errors = job.Errors[max(0, len(job.Errors)-1):]
		})},
		{Name: "Get loses the stack of a panic", Case: "panic/spends-an-attempt", Says: "the stack does not lead", seed: shows(func(job *jobs.Job) {
			for n := range job.Errors {
				job.Errors[n].Stack = ""
			}
		})},
		{Name: "a retryable job is shown as pending", Case: "retry/is-retryable-between", Says: "is pending, want [retryable]", seed: shows(func(job *jobs.Job) {
			if job.State == jobs.Retryable {
				job.State = jobs.Pending
			}
		})},
		{Name: "List skips a row at a page edge", Case: "inspect/pages-are-seamless", Says: "the pages together", seed: pageEdge(
			func(page *jobs.Page, _ jobs.Job) { page.Jobs = page.Jobs[min(1, len(page.Jobs)):] })},
		{Name: "List repeats a row at a page edge", Case: "inspect/pages-are-seamless", Says: "the pages together", seed: pageEdge(
			func(page *jobs.Page, last jobs.Job) {
				if len(page.Jobs) > 0 {
					page.Jobs[0] = last
				}
			})},
		{Name: "List ignores the owner", Case: "inspect/list-filters", Says: "filter by an owner", seed: lists(func(filter *jobs.Filter) { filter.Owner = "" })},
		{Name: "List ignores the args", Case: "inspect/list-filter-args", Says: "filter by args", seed: lists(func(filter *jobs.Filter) { filter.Args = nil })},
		{Name: "Overview loses kinds", Case: "inspect/overview-counts", Says: "per kind", seed: overview(func(o *jobs.Overview) { o.Kinds = nil })},
		{Name: "a discarded job raises no alert", Case: "discard/alert-until-acknowledged", Says: "Overview reports 0", seed: overview(func(o *jobs.Overview) {
			o.Unacked = jobs.Count{}
		})},
		{Name: "Unfinished loses a job", Case: "inspect/unfinished", Says: "unfinished jobs", seed: func() seed {
			return changed(func(i *inspector) {
				i.left = func(ids []jobs.JobID) []jobs.JobID { return ids[min(1, len(ids)):] }
			})
		}},
	}
}

// shows makes a seed that changes what Get shows.
func shows(fn func(job *jobs.Job)) func() seed {
	return func() seed {
		return changed(func(i *inspector) {
			i.job = func(job jobs.Job) jobs.Job { fn(&job); return job }
		})
	}
}

func overview(fn func(o *jobs.Overview)) func() seed {
	return func() seed {
		return changed(func(i *inspector) {
			i.overview = func(o jobs.Overview) jobs.Overview { fn(&o); return o }
		})
	}
}

// lists makes a seed that changes the filter of List.
func lists(fn func(filter *jobs.Filter)) func() seed {
	return func() seed {
		return changed(func(i *inspector) {
			i.list = func(ctx context.Context, filter jobs.Filter) (jobs.Page, error) {
				fn(&filter)
				return i.Inspector.List(ctx, filter)
			}
		})
	}
}

// pageEdge makes a seed that changes every page but the first, knowing the last job of the page before.
func pageEdge(fn func(page *jobs.Page, last jobs.Job)) func() seed {
	return func() seed {
		ends := map[string]jobs.Job{}
		return changed(func(i *inspector) {
			i.list = func(ctx context.Context, filter jobs.Filter) (jobs.Page, error) {
				page, err := i.Inspector.List(ctx, filter)
				if err != nil {
					return page, err
				}
				if page.Next != "" && len(page.Jobs) > 0 {
					ends[page.Next] = page.Jobs[len(page.Jobs)-1]
				}
				if filter.Cursor != "" {
					fn(&page, ends[filter.Cursor])
				}
				return page, nil
			}
		})
	}
}
