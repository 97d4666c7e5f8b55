package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// One pass is one transaction: claim, one EnqueueMany, one mark, one notification, commit. Whatever fails takes back all.

// fullScan is the floor of a claim that overlooks nothing.
const fullScan = 0

// passResult is what a pass did. next is the seq from which the next claim may start, left says that it is of a row that this
// pass could not afford.
type passResult struct {
	claimed, fanned, failed int
	made                    int // jobs
	next                    int64
	left                    bool
}

// plus adds up two passes that went side by side. The next claim starts at the first row that either left, or behind both.
func (p passResult) plus(q passResult) passResult {
	if q.left != p.left && q.left || q.left == p.left && q.left == (q.next < p.next) {
		p.next, p.left = q.next, q.left
	}
	p.claimed, p.fanned, p.failed, p.made = p.claimed+q.claimed, p.fanned+q.fanned, p.failed+q.failed, p.made+q.made
	return p
}

// pass claims from floor on and fans out. Where careful, a row's own fault costs only that row.
func (r *relay) pass(ctx context.Context, floor int64, careful bool) (res passResult, err error) {
	began := time.Now()
	f := fanner{relay: r}
	err = pg.InShortTx(ctx, r.pool, func(ctx context.Context, tx pgx.Tx) error {
		res = passResult{}
		claimed, err := queries(tx).ClaimEvents(ctx, eventsql.ClaimEventsParams{
			FloorSeq: floor, BatchSize: int32(r.size),
		})
		if err != nil {
			return fmt.Errorf("claim: %w", err)
		}
		if len(claimed) == 0 {
			return nil
		}
		f.answered = time.Now()
		targets, err := readTargets(ctx, tx)
		if err != nil {
			return err
		}
		f.tx, f.targets = tx, append(targets, enqueueing)
		res.next = claimed[len(claimed)-1].Seq + 1
		if n := affordable(claimed, f.targets); n < len(claimed) {
			res.next, res.left = claimed[n].Seq, true
			claimed = claimed[:n]
		}
		res.claimed, f.claimed = len(claimed), claimed
		if careful {
			err = f.bisect(ctx, claimed)
		} else {
			err = f.fan(ctx, tx, claimed)
		}
		if err != nil {
			return err
		}
		res.fanned, res.failed, res.made = len(f.marked), f.failed, f.made
		return f.mark(ctx)
	})
	f.endSpans(0, err)
	if err == nil {
		f.tell(began)
	}
	return res, err
}

// fanner fans out the events of one pass.
type fanner struct {
	relay   *relay
	tx      pgx.Tx
	targets []target
	marked  []string // ids
	seqs    []int64
	fanouts []json.RawMessage
	spans   []fanSpan // of the marked events; none where nothing is traced
	failed  int
	saves   int // savepoints spent

	told
}

type claimedEvent = eventsql.ClaimEventsRow

// plan is which jobs a batch needs and which job each event's subscriptions refer to.
type plan struct {
	jobs []jobs.EnqueueParams
	refs []map[string]int // per event: subscription → index in jobs
}

// planFor builds one job for each (event, matching subscription); a coalescing subscription gets one per owner and subject,
// for the latest event, and the events before it refer to that job.
func planFor(events []claimedEvent, targets []target) plan {
	p := plan{refs: make([]map[string]int, len(events))}
	for i := range p.refs {
		p.refs[i] = map[string]int{}
	}
	for _, t := range targets {
		if t.batch > 1 {
			p.addWide(events, t)
			continue
		}
		type subject struct{ owner, subject string }
		covered := map[subject]int{}
		for i := len(events) - 1; i >= 0; i-- {
			e := events[i]
			if !t.wants(e.Type) {
				continue
			}
			key := subject{e.OwnerID, e.Subject}
			if at, ok := covered[key]; ok && t.coalesce {
				p.refs[i][t.name] = at
				continue
			}
			covered[key] = len(p.jobs)
			p.refs[i][t.name] = len(p.jobs)
			p.jobs = append(p.jobs, jobFor(e, t))
		}
	}
	p.reverse()
	return p
}

// reverse puts the jobs, which were found from the latest event on, into the order of their events: nothing is promised of it, but
// who claims the longest waiting first is not surprised.
func (p *plan) reverse() {
	slices.Reverse(p.jobs)
	for _, refs := range p.refs {
		for name, at := range refs {
			refs[name] = len(p.jobs) - 1 - at
		}
	}
}

func jobFor(e claimedEvent, t target) jobs.EnqueueParams {
	if t.enqueues {
		return enqueued(e)
	}
	args, _ := json.Marshal(jobArgs{EventID: e.ID, Subscription: t.name}) // two strings: cannot fail
	return jobs.EnqueueParams{Kind: t.name, Args: json.RawMessage(args), Opts: jobs.EnqueueOpts{
		Owner: e.OwnerID, Trace: e.Trace, Queue: t.queue, MaxAttempts: t.maxAttempts,
	}}
}

// maxJobs bounds the jobs of one pass, so that many subscribers make more passes and not transactions of seconds.
const maxJobs = 2000

// affordable answers how many of the events, at least one, make at most maxJobs jobs. The others stay unmarked for the next
// pass.
func affordable(events []claimedEvent, targets []target) int {
	total, shared := 0, make([]int, len(targets)) // shared counts what a target's newest wide job has
	for i, e := range events {
		for at, t := range targets {
			if !t.wants(e.Type) {
				continue
			}
			if shared[at]%max(t.batch, 1) == 0 {
				total++
			}
			shared[at]++
		}
		if total > maxJobs && i > 0 {
			return i
		}
	}
	return len(events)
}

// fan enqueues the jobs of the events and notes what to mark. An event with no subscriber is marked too.
func (f *fanner) fan(ctx context.Context, tx pgx.Tx, events []claimedEvent) error {
	p := planFor(f.traced(ctx, events), f.targets)
	f.made += len(p.jobs)
	var ids []jobs.JobID
	if len(p.jobs) > 0 {
		var err error
		if ids, err = f.relay.runtime().With(tx).EnqueueMany(ctx, p.jobs); err != nil {
			return fmt.Errorf("enqueue %d jobs: %w", len(p.jobs), err)
		}
	}
	for i, e := range events {
		fanout := make(map[string]jobs.JobID, len(p.refs[i]))
		for name, at := range p.refs[i] {
			fanout[name] = ids[at]
		}
		raw, err := json.Marshal(fanout)
		if err != nil {
			return fmt.Errorf("fan-out of event %s: %w", e.ID, err)
		}
		f.marked, f.seqs, f.fanouts = append(f.marked, e.ID), append(f.seqs, e.Seq), append(f.fanouts, raw)
		f.counted(len(fanout))
	}
	return nil
}

// mark marks every fanned row in one statement and tells the waiters which events have their jobs.
func (f *fanner) mark(ctx context.Context) error {
	if len(f.marked) == 0 {
		return nil
	}
	q := queries(f.tx)
	err := q.MarkFanned(ctx, eventsql.MarkFannedParams{
		Seqs: f.seqs, Fanouts: f.fanouts, Low: slices.Min(f.seqs), High: slices.Max(f.seqs),
	})
	if err != nil {
		return fmt.Errorf("mark: %w", err)
	}
	if err := q.NotifyFanned(ctx, eventsql.NotifyFannedParams{Payloads: chunks(f.marked)}); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}

// idsPerPayload keeps a notification under 8,000 bytes: 200 × (36 + 1).
const idsPerPayload = 200

// chunks joins ids into notification payloads.
func chunks(ids []string) []string {
	var out []string
	for len(ids) > 0 {
		n := min(len(ids), idsPerPayload)
		out = append(out, strings.Join(ids[:n], ","))
		ids = ids[n:]
	}
	return out
}

// ownFault says that the row itself is to blame: what it holds, or what is declared for it. Everything else (connection,
// deadlock, out of memory, shutdown) is the surroundings' fault and is never counted against a row.
func ownFault(err error) bool {
	return pg.IsRowFault(err) || errors.Is(err, jobs.ErrInvalid) || errors.Is(err, jobs.ErrUnknownKind)
}
