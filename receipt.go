package postbus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/jobs"
)

// Receipt tells what is committed of an event: that it is recorded, which jobs it got, and how far each of them is. Its JSON is
// stable: fields are added, none is renamed or removed. See docs/receipts.md.
type Receipt struct {
	EventID string `json:"event_id"`
	// Status is that of the event: pending, fanned or poisoned.
	Status events.Status `json:"status"`
	// Final says that the event is fanned out and that every job that was asked for has ended, well or not.
	Final bool `json:"final"`
	// Jobs has one entry for each subscription that got a job, in order of its name; empty while the event is not fanned out.
	Jobs []JobReceipt `json:"jobs"`
}

// JobReceipt tells what is committed of one job.
type JobReceipt struct {
	// Subscription is the one that got the job, "" for a job that was enqueued.
	Subscription string     `json:"subscription,omitempty"`
	JobID        jobs.JobID `json:"job_id"`
	State        JobState   `json:"state"`
	// Final says that the state will not change by itself: a person may still retry a discarded job.
	Final bool `json:"final"`
}

// JobState is a state of jobs, or Pruned.
type JobState = jobs.State

// Pruned is in a receipt the state of a job that ended so long ago that nothing else is known of it.
const Pruned JobState = "pruned"

// Of answers the job that a subscription got.
func (r Receipt) Of(subscription string) (JobReceipt, bool) {
	i := slices.IndexFunc(r.Jobs, func(j JobReceipt) bool { return j.Subscription == subscription })
	if i < 0 {
		return JobReceipt{}, false
	}
	return r.Jobs[i], true
}

// Receipt waits for the event's fan-out and for the end of the named subscriptions' jobs, at most max for all of it, and answers
// what is committed then. That max has passed is no error: the receipt is not Final. It comes at once for a poisoned event, and
// where 64 callers wait for receipts in this process already. Call it after the commit.
//
// An event that is not there gives events.ErrNotFound; a named subscription that was not told of the event gives
// events.ErrInvalid beside the receipt.
func (b *Bus) Receipt(ctx context.Context, eventID string, max time.Duration, subscriptions ...string) (Receipt, error) {
	max, leave := b.joinReceipts(max)
	defer leave()
	until := time.Now().Add(max)
	event, err := b.events.Get(ctx, eventID)
	if err != nil {
		return Receipt{}, fmt.Errorf("postbus: %w", err)
	}
	if event.Status == events.Pending && max > 0 {
		if _, _, err = b.events.AwaitFanout(ctx, eventID, max); err == nil {
			event, err = b.events.Get(context.WithoutCancel(ctx), eventID) // max may be all that ctx had
		}
		if err != nil {
			return Receipt{}, fmt.Errorf("postbus: %w", err)
		}
	}
	for {
		receipt, err := b.receiptOf(ctx, event, until, subscriptions)
		if err != nil || receipt.Status != events.Fanned {
			return receipt, err
		}
		// An event may have left a wide job for one of its own, and that ended without it: what was read before it ended says nothing.
		now, err := b.events.Get(context.WithoutCancel(ctx), eventID)
		if err != nil {
			return Receipt{}, fmt.Errorf("postbus: %w", err)
		}
		if maps.Equal(now.Fanout, event.Fanout) {
			return receipt, receipt.check(event.Type, subscriptions)
		}
		event = now
	}
}

// receiptOf tells of the jobs that the event's fan-out names, and waits for the end of those that were asked for.
func (b *Bus) receiptOf(ctx context.Context, event events.Detail, until time.Time, subscriptions []string) (Receipt, error) {
	receipt := Receipt{EventID: event.ID, Status: event.Status, Jobs: []JobReceipt{}}
	if receipt.Status != events.Fanned {
		return receipt, nil
	}
	receipt.Final = true
	for subscription, id := range event.Fanout {
		rest := time.Duration(0)
		asked := slices.Contains(subscriptions, subscription)
		if asked {
			rest = time.Until(until)
		}
		job, err := b.jobReceipt(ctx, id, rest)
		if err != nil {
			return Receipt{EventID: event.ID, Status: receipt.Status, Jobs: []JobReceipt{}}, err
		}
		job.Subscription = subscription
		receipt.Jobs = append(receipt.Jobs, job)
		receipt.Final = receipt.Final && (job.Final || !asked)
	}
	slices.SortFunc(receipt.Jobs, func(a, b JobReceipt) int { return strings.Compare(a.Subscription, b.Subscription) })
	return receipt, nil
}

// check refuses subscriptions that got no job: their work would be waited for in vain, or be taken for done.
func (r Receipt) check(eventType string, subscriptions []string) error {
	for _, name := range subscriptions {
		if _, ok := r.Of(name); !ok {
			return fmt.Errorf("postbus: %w: event %s of type %q gave no job to subscription %q: name one that its types match",
				events.ErrInvalid, r.EventID, eventType, name)
		}
	}
	return nil
}

// JobReceipt waits for the job's end, at most max, and answers what is committed then. A job that is not there any more is
// Pruned, which is final: ask only for ids that Enqueue or a fan-out gave.
func (b *Bus) JobReceipt(ctx context.Context, id jobs.JobID, max time.Duration) (JobReceipt, error) {
	max, leave := b.joinReceipts(max)
	defer leave()
	return b.jobReceipt(ctx, id, max)
}

// maxReceipts is how many callers may wait for receipts in one process; one more gets its receipt at once.
const maxReceipts = 64

// joinReceipts answers how long the caller may wait: not at all where the others are too many.
func (b *Bus) joinReceipts(max time.Duration) (may time.Duration, leave func()) {
	if max <= 0 {
		return 0, func() {}
	}
	if b.receipts.Add(1) > maxReceipts {
		b.receipts.Add(-1)
		return 0, func() {}
	}
	return max, func() { b.receipts.Add(-1) }
}

func (b *Bus) jobReceipt(ctx context.Context, id jobs.JobID, max time.Duration) (JobReceipt, error) {
	state, final := jobs.State(""), false
	if max > 0 {
		state, final = b.Wait(ctx, id, max)
	}
	if !final {
		job, err := b.Inspector().Get(context.WithoutCancel(ctx), id) // max may be all that ctx had
		switch {
		case errors.Is(err, jobs.ErrNotFound):
			state = Pruned
		case err != nil:
			return JobReceipt{}, fmt.Errorf("postbus: receipt of job %s: %w", id, err)
		default:
			state = job.State
		}
	}
	return JobReceipt{JobID: id, State: state, Final: state.Final() || state == Pruned}, nil
}

// WriteHTTP answers a request with the receipt: 200 where it is final, else 202 with the Location at which its state can be read.
func (r Receipt) WriteHTTP(w http.ResponseWriter, location string) error {
	return writeReceipt(w, r, r.Final, location)
}

// WriteHTTP answers a request as Receipt.WriteHTTP does.
func (r JobReceipt) WriteHTTP(w http.ResponseWriter, location string) error {
	return writeReceipt(w, r, r.Final, location)
}

func writeReceipt(w http.ResponseWriter, receipt any, final bool, location string) error {
	body, err := json.Marshal(receipt)
	if err != nil {
		return fmt.Errorf("postbus: write a receipt: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	status := http.StatusOK
	if !final {
		w.Header().Set("Location", location)
		status = http.StatusAccepted
	}
	w.WriteHeader(status)
	_, err = w.Write(append(body, '\n'))
	return err
}
