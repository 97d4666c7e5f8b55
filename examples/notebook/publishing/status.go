package publishing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/examples/notebook/receiver"
	"github.com/postbus/postbus/webhooks"
)

// Tally is where the published notes and their webhooks stand.
type Tally struct {
	Published int64
	webhooks.Outcomes
	// Trouble says what is wrong with the endpoint, "" where nothing is.
	Trouble string
	// Received is the page on which the receiver says what it got, "" where there is no endpoint.
	Received string
}

// Tally reads it.
func (p *Publisher) Tally(ctx context.Context) (t Tally, err error) {
	if t.Published, err = p.Notes.CountPublished(ctx, p.Owner); err != nil {
		return t, err
	}
	account, err := p.Bus.Webhooks().Account(ctx, webhooks.AccountFilter{OwnerID: p.Owner})
	if err != nil {
		return t, err
	}
	t.Outcomes = account.Fanout
	t.Pending += account.Outstanding
	e, err := p.Endpoint(ctx)
	switch {
	case err != nil:
		return t, err
	case e == nil:
		t.Trouble = "there is no endpoint: webhooks go nowhere"
		return t, nil
	case !e.Enabled:
		t.Trouble = "the endpoint is disabled: " + e.DisabledReason
	case e.FailingSince != nil:
		t.Trouble = "the receiver has failed since " + e.FailingSince.Format("15:04:05 UTC")
	}
	t.Received = receiver.Page(e.URL, "")
	return t, nil
}

// Last is the latest webhook of a note and what became of it.
type Last struct {
	Data
	EventID string
	// State is the delivery's, "" while there is none.
	State webhooks.DeliveryState
	// Text says in words where it stands.
	Text string
	// Received is the page on which the receiver says what it got of this note.
	Received string
}

// Last answers the latest webhook of a note, nil where the note never had one (or all are pruned).
func (p *Publisher) Last(ctx context.Context, noteID string) (*Last, error) {
	page, err := p.Bus.Events().List(ctx, events.Filter{Types: []string{Published}, OwnerID: p.Owner, Subject: noteID, Limit: 1})
	if err != nil || len(page.Events) == 0 {
		return nil, err
	}
	event, err := p.Bus.Events().Get(ctx, page.Events[0].ID) // a list has no data
	if errors.Is(err, events.ErrNotFound) {
		return nil, nil // pruned meanwhile
	}
	if err != nil {
		return nil, err
	}
	last := &Last{EventID: event.ID, Text: unfanned(event)}
	_ = json.Unmarshal(event.Data, &last.Data) // not ours to judge: shown without it
	e, err := p.Endpoint(ctx)
	if err != nil {
		return nil, err
	}
	if e == nil {
		last.Text = "not sent: there is no endpoint"
		return last, nil
	}
	last.Received = receiver.Page(e.URL, noteID)
	found, err := p.Bus.Webhooks().Deliveries(ctx, webhooks.DeliveryFilter{EndpointID: e.ID, EventID: event.ID, Limit: 1})
	if err != nil {
		return nil, err
	}
	for _, d := range found.Deliveries {
		last.State, last.Text = d.State, Words(d)
	}
	return last, nil
}

func unfanned(e events.Detail) string {
	switch e.Status {
	case events.Poisoned:
		return "not sent: the event was set aside: " + e.LastError
	case events.Pending:
		return "recorded, waits for the relay"
	}
	return "recorded, on its way to the endpoint"
}

// Words says where a delivery stands.
func Words(d webhooks.Delivery) string {
	switch d.State {
	case webhooks.Delivered:
		return fmt.Sprintf("delivered at attempt %d, %d ms after the change", d.Tries, took(d))
	case webhooks.Discarded:
		return fmt.Sprintf("failed, given up after %d attempts: %s", d.Tries, d.Reason)
	case webhooks.Skipped:
		return "not sent: " + d.Reason
	}
	switch {
	case d.InFlight:
		return fmt.Sprintf("pending, attempt %d is under way", d.Tries+1)
	case d.Behind:
		return "pending, waits for an earlier change of this note"
	case d.Tries > 0 && d.NextAttemptAt != nil:
		return fmt.Sprintf("pending, attempt %d failed (%s), the next is at %s", d.Tries, d.Reason, d.NextAttemptAt.Format("15:04:05 UTC"))
	}
	return "pending"
}

func took(d webhooks.Delivery) int64 {
	if d.SettledAt == nil {
		return 0
	}
	return max(d.SettledAt.Sub(d.OccurredAt), 0).Round(time.Millisecond).Milliseconds()
}
