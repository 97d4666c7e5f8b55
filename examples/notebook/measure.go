package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/examples/notebook/console"
	"github.com/postbus/postbus/examples/notebook/indexing"
	"github.com/postbus/postbus/jobs"
)

// counts are what the bus did for this run.
type counts struct {
	events, jobs, coalesced int
	took                    []int64 // milliseconds from commit to indexed, of every event whose job is done
}

// count reads every event since the run began and joins it with its job.
func (a *app) count(ctx context.Context, since time.Time) (c counts, err error) {
	taken := map[jobs.JobID]bool{}
	filter := events.Filter{Types: []string{indexing.Changed}, Since: since, Limit: 200}
	for {
		page, err := a.bus.Events().List(ctx, filter)
		if err != nil {
			return c, err
		}
		lines, err := console.Join(ctx, a.bus.Inspector(), page.Events)
		if err != nil {
			return c, err
		}
		for _, l := range lines {
			c.events++
			if l.JobID != "" && !taken[l.JobID] {
				taken[l.JobID] = true
				c.jobs++
			}
			if l.State == jobs.Completed {
				c.took = append(c.took, l.TookMS)
			}
		}
		if page.Next == "" {
			c.coalesced = c.events - c.jobs
			slices.Sort(c.took)
			return c, nil
		}
		filter.Cursor = page.Next
	}
}

// percentile of a sorted list: the least value that p of a hundred do not exceed.
func percentile(sorted []int64, p int) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max((len(sorted)*p+99)/100, 1)-1]
}

func (a *app) report(ctx context.Context, out io.Writer, since time.Time) error {
	c, err := a.count(ctx, since)
	if err != nil {
		return err
	}
	notes, err := a.notes.Count(ctx, owner)
	if err != nil {
		return err
	}
	overview, err := a.bus.Inspector().Overview(ctx, indexing.Index)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "counts    notes %d, events %d, jobs %d, coalesced %d, discarded %d\n",
		notes, c.events, c.jobs, c.coalesced, overview.Kinds[indexing.Index].Discarded.N)
	if len(c.took) > 0 {
		fmt.Fprintf(out, "latency   commit to indexed: p50 %d ms, p99 %d ms, most %d ms\n",
			percentile(c.took, 50), percentile(c.took, 99), c.took[len(c.took)-1])
	}
	return nil
}
