package events

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/internal/tracing"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// move gives each failed event a job of its own, and those that the run did not come to another wide job. It is one transaction with
// the change of their fan-outs, so that each (event, subscription) still has exactly one job; a crash before it repeats the run.
func (r *wideRun) move(ctx context.Context) error {
	if len(r.failed) == 0 && r.rest == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	err := pg.InShortTx(ctx, r.bus.pool, func(ctx context.Context, tx pgx.Tx) error {
		held, err := queries(tx).HoldEventsOfJob(ctx, r.holding())
		if err != nil {
			return err
		}
		own, moved := r.ownJobs(held)
		rest, left := r.restJob(held)
		if left != nil {
			own = append(own, rest)
		}
		if len(own) == 0 { // another run of the job has moved them
			return nil
		}
		ids, err := r.bus.runtime.With(tx).EnqueueMany(ctx, own)
		if err != nil {
			return err
		}
		params := eventsql.MoveEventsParams{Subscription: r.sub.Name}
		for i, seq := range append(moved, left...) {
			params.Seqs = append(params.Seqs, seq)
			params.JobIds = append(params.JobIds, string(ids[min(i, len(ids)-1)])) // the rest share the last one
		}
		return queries(tx).MoveEvents(ctx, params)
	})
	if err != nil {
		return fmt.Errorf("give %d events of job %s jobs of their own: %w", len(r.failed), r.job, err)
	}
	return nil
}

// holding names what leaves the job: the failed events, and all from the rest on.
func (r *wideRun) holding() eventsql.HoldEventsOfJobParams {
	p := eventsql.HoldEventsOfJobParams{
		FirstSeq: r.args.FirstSeq, LastSeq: r.args.LastSeq, Subscription: r.sub.Name, JobID: string(r.job),
		Seqs: []int64{}, RestSeq: r.args.LastSeq + 1,
	}
	for _, f := range r.failed {
		p.Seqs = append(p.Seqs, f.event.Seq)
	}
	if r.rest > 0 {
		p.RestSeq = r.rest
	}
	return p
}

// ownJobs answers a job for each failed event that is still this job's, and the events' seqs in the same order.
func (r *wideRun) ownJobs(held []eventsql.HoldEventsOfJobRow) (own []jobs.EnqueueParams, seqs []int64) {
	still := make(map[int64]bool, len(held))
	for _, row := range held {
		still[row.Seq] = true
	}
	for _, f := range r.failed {
		if !still[f.event.Seq] {
			continue
		}
		args, _ := json.Marshal(jobArgs{EventID: f.event.ID, Subscription: r.sub.Name}) // two strings: cannot fail
		own = append(own, jobs.EnqueueParams{Kind: r.sub.Name, Args: json.RawMessage(args), Opts: jobs.EnqueueOpts{
			Owner: f.event.OwnerID, Trace: tracing.Clean(f.event.Trace), Ran: f.err,
		}})
		seqs = append(seqs, f.event.Seq)
	}
	return own, seqs
}

// restJob answers the wide job for the events that this one did not come to, and their seqs.
func (r *wideRun) restJob(held []eventsql.HoldEventsOfJobRow) (job jobs.EnqueueParams, seqs []int64) {
	if r.rest == 0 {
		return job, nil
	}
	owner := ""
	for _, row := range held {
		if row.Seq < r.rest {
			continue
		}
		if owner = row.OwnerID; len(seqs) > 0 && owner != job.Opts.Owner {
			owner = ""
		}
		job.Opts.Owner = owner
		seqs = append(seqs, row.Seq)
	}
	if len(seqs) > 0 {
		job.Kind, job.Args = r.sub.Name, wideArgs(r.sub.Name, seqs[0], seqs[len(seqs)-1], len(seqs))
	}
	return job, seqs
}
