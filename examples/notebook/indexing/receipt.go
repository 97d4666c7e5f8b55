package indexing

import (
	"context"
	"errors"
	"time"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/examples/notebook/search"
	"github.com/postbus/postbus/jobs"
)

// Receipt tells a writer what has become of the change that it has committed. It is never an error: the change is kept
// and its event recorded, whatever it says.
type Receipt struct {
	// Indexed says that the search service has the change.
	Indexed bool `json:"indexed"`
	// JobID is the job that indexes it; "" while it has none yet.
	JobID jobs.JobID `json:"job_id,omitempty"`
	// EventID is the event of the change.
	EventID string `json:"event_id,omitempty"`
	// State is the job's state, "" where it is not known.
	State jobs.State `json:"state,omitempty"`
	// TookMS is the time from the event to the end of its job, in milliseconds; 0 while it has not ended.
	TookMS int64 `json:"took_ms,omitempty"`
}

// Receipts waits for receipts.
type Receipts struct {
	// Wait is how long a writer waits at most.
	Wait   time.Duration
	Bus    *postbus.Bus
	Search *search.Client
}

// Await waits, at most Wait, until the note's latest change is indexed. Call it after the commit. version is the
// note's version after the change, 0 where it was deleted.
func (r Receipts) Await(ctx context.Context, owner, id string, version int64) Receipt {
	ctx, cancel := context.WithTimeout(ctx, r.Wait)
	defer cancel()
	deadline, _ := ctx.Deadline()
	// Of the notes' events, not of those that tell of publications.
	page, err := r.Bus.Events().List(ctx, events.Filter{Types: []string{Changed}, OwnerID: owner, Subject: id, Limit: 1})
	if err == nil && len(page.Events) == 0 { // an edit that changed nothing, long after the note's last event was pruned
		return Receipt{Indexed: r.has(ctx, id, version)}
	}
	if err != nil {
		return Receipt{}
	}
	event := page.Events[0]
	receipt := Receipt{EventID: event.ID}
	fanout, _, err := r.Bus.Events().AwaitFanout(ctx, event.ID, time.Until(deadline))
	if receipt.JobID = fanout[Index]; err != nil || receipt.JobID == "" {
		return receipt
	}
	receipt.State, _ = r.Bus.Wait(ctx, receipt.JobID, time.Until(deadline))
	// The job may have ended with the last of the wait: one more look, in a moment of its own.
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return r.fill(ctx, receipt, event.Event, version)
}

// Look answers the receipt of an event as it stands, without waiting.
func (r Receipts) Look(ctx context.Context, eventID, id string) (Receipt, bool) {
	event, err := r.Bus.Events().Get(ctx, eventID)
	if err != nil || event.Subject != id {
		return Receipt{}, false
	}
	receipt := Receipt{EventID: event.ID, JobID: event.Fanout[Index]}
	if receipt.JobID == "" {
		return receipt, true
	}
	return r.fill(ctx, receipt, event.Event, 0), true
}

// fill reads how the job ended. A job that is gone has been pruned after its end: the index itself is asked then.
func (r Receipts) fill(ctx context.Context, receipt Receipt, event events.Event, version int64) Receipt {
	job, err := r.Bus.Inspector().Get(ctx, receipt.JobID)
	if errors.Is(err, jobs.ErrNotFound) {
		receipt.Indexed = r.has(ctx, event.Subject, version)
		return receipt
	}
	if err != nil {
		return receipt
	}
	receipt.State, receipt.Indexed = job.State, job.State == jobs.Completed
	if job.FinishedAt != nil {
		receipt.TookMS = max(job.FinishedAt.Sub(event.OccurredAt).Milliseconds(), 0)
	}
	return receipt
}

func (r Receipts) has(ctx context.Context, id string, version int64) bool {
	v, err := r.Search.Get(ctx, id)
	return err == nil && v.Version >= version
}
