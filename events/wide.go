package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/jobs"
)

// A wide job covers the events of one pass for one subscription: those in its range of seqs whose fan-out names it. Which events are
// still its own is therefore the outbox's to say, and an event that leaves the job, to go on alone, does so by a change of its fan-out
// in the transaction that makes its own job. However often the wide job runs again, it does not meet that event any more.

const (
	// wideBudget is how long a wide job goes on to further events. What is left then goes to another one, so that a stop of the
	// process need not break it off and a worker is free for others.
	wideBudget = 10 * time.Second
	// moveTimeout bounds the transaction in which events leave a wide job.
	moveTimeout = 10 * time.Second
	// widePage is how many events are loaded, and handed to a HandleAll, at once.
	widePage = 250
	// wideSpan bounds how many events of other subscriptions lie in a wide job's range.
	wideSpan = 5000
)

// Failed is what a HandleAll answers that did only some of its events: why, by the id of the event, of each one that it did not do. A
// reason may be a jobs.Snooze or a jobs.Discard.
type Failed map[string]error

func (f Failed) Error() string {
	for id, err := range f {
		if len(f) == 1 {
			return fmt.Sprintf("event %s: %v", id, err)
		}
		return fmt.Sprintf("%d events failed, among them %s: %v", len(f), id, err)
	}
	return "no event failed"
}

// jobTimeout is how long a job of the subscription may run where an event may take timeout.
func (s Subscription) jobTimeout(timeout time.Duration) time.Duration {
	if s.Batch <= 1 || timeout < 0 {
		return timeout
	}
	return wideBudget + timeout + moveTimeout
}

// addWide makes one job for up to t.batch of the events that t wants. A single event gets the job that it always gets.
func (p *plan) addWide(events []claimedEvent, t target) {
	var wanted []int
	for i, e := range events {
		if t.wants(e.Type) {
			wanted = append(wanted, i)
		}
	}
	for end := len(wanted); end > 0; { // from the latest on, as planFor does
		from := end - 1
		for from > 0 && end-from < t.batch && events[wanted[end-1]].Seq-events[wanted[from-1]].Seq < wideSpan {
			from--
		}
		for _, i := range wanted[from:end] {
			p.refs[i][t.name] = len(p.jobs)
		}
		p.jobs = append(p.jobs, wideJobFor(events, wanted[from:end], t))
		end = from
	}
}

func wideJobFor(events []claimedEvent, places []int, t target) jobs.EnqueueParams {
	first, last := events[places[0]], events[places[len(places)-1]]
	job := jobFor(first, t)
	if len(places) == 1 {
		return job
	}
	for _, i := range places {
		if events[i].OwnerID != first.OwnerID {
			job.Opts.Owner = "" // several owners' events: it is nobody's alone
		}
	}
	job.Opts.Trace = "" // each event is handled in its own
	job.Args = wideArgs(t.name, first.Seq, last.Seq, len(places))
	return job
}

func wideArgs(subscription string, first, last int64, events int) json.RawMessage {
	raw, _ := json.Marshal(jobArgs{Subscription: subscription, FirstSeq: first, LastSeq: last, Events: events}) // cannot fail
	return raw
}

// wideRun is one run of a wide job.
type wideRun struct {
	handler
	job    jobs.JobID
	args   jobArgs
	until  time.Time // when the budget is spent
	done   int
	failed []failedEvent
	rest   int64 // the seq of the first event that it did not come to, 0 where it came to all
}

type failedEvent struct {
	event Event
	err   error
}

// wide hands the events of a wide job to the handler.
func (h handler) wide(ctx context.Context, args jobArgs) error {
	job, ok := jobs.Current(ctx)
	if !ok {
		return errors.New("a wide job runs outside of a handler: its context does not name it")
	}
	budget := wideBudget
	if h.sub.Batch <= 1 && h.timeout > 0 { // it was wide when the job was made; the kind's timeout is an event's now
		budget = min(budget, h.timeout/2)
	}
	run := wideRun{handler: h, job: job, args: args, until: time.Now().Add(budget)}
	if err := run.events(ctx); err != nil {
		return err
	}
	if err := run.move(ctx); err != nil {
		return err
	}
	if run.rest == 0 && len(run.failed) == 0 {
		return nil
	}
	return jobs.SetResult(ctx, map[string]any{"done": run.done, "went_on_alone": len(run.failed), "left_to_another": run.rest > 0})
}

// events handles all events, or as many as the budget lets it. It answers an error where the run as a whole is broken off.
func (r *wideRun) events(ctx context.Context) error {
	for after := r.args.FirstSeq - 1; r.rest == 0; {
		page, err := r.page(ctx, after)
		if err != nil || len(page) == 0 {
			return err
		}
		if r.sub.HandleAll != nil {
			r.all(ctx, page)
		} else {
			r.each(ctx, page)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if after = page[len(page)-1].Seq; r.rest == 0 && !time.Now().Before(r.until) && after < r.args.LastSeq {
			r.rest = after + 1
		}
	}
	return nil
}

func (r *wideRun) page(ctx context.Context, after int64) ([]Event, error) {
	rows, err := queries(r.bus.pool).EventsOfJob(ctx, eventsql.EventsOfJobParams{
		FirstSeq: r.args.FirstSeq, LastSeq: r.args.LastSeq, AfterSeq: after, Subscription: r.sub.Name, JobID: string(r.job), Most: widePage,
	})
	if err != nil {
		return nil, fmt.Errorf("read the events of job %s: %w", r.job, err)
	}
	events := make([]Event, len(rows))
	for i, row := range rows {
		events[i] = eventOf(row)
	}
	return events, nil
}

// each hands over event by event. What it does not come to, because the budget is spent, is the rest.
func (r *wideRun) each(ctx context.Context, events []Event) {
	for _, e := range events {
		if ctx.Err() != nil {
			return
		}
		if !time.Now().Before(r.until) {
			r.rest = e.Seq
			return
		}
		r.note(e, r.traced(ctx, r.job, e))
	}
}

// all hands over the events at once.
func (r *wideRun) all(ctx context.Context, events []Event) {
	err := r.bounded(ctx, events)
	var failed Failed
	if named := errors.As(err, &failed) && failed.within(events); !named {
		for _, e := range events {
			r.note(e, err)
		}
		return
	}
	for _, e := range events {
		r.note(e, failed[e.ID])
	}
}

// within says that the failed events are some of these. An answer that names others cannot be relied upon.
func (f Failed) within(events []Event) bool {
	known := make(map[string]bool, len(events))
	for _, e := range events {
		known[e.ID] = true
	}
	for id := range f {
		if !known[id] {
			return false
		}
	}
	return true
}

func (r *wideRun) note(e Event, err error) {
	if err == nil {
		r.done++
		return
	}
	r.failed = append(r.failed, failedEvent{e, err})
}
