package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/bulk"
	"github.com/postbus/postbus/mail"
	"github.com/postbus/postbus/webhooks"
)

// Event is an event and what became of it, without its data.
type Event struct {
	ID            string     `json:"id"`
	Type          string     `json:"type"`
	OwnerID       string     `json:"owner_id"`
	Subject       string     `json:"subject"`
	OccurredAt    time.Time  `json:"occurred_at"`
	Status        string     `json:"status" enum:"pending,fanned,poisoned"`
	Trace         string     `json:"trace,omitempty" doc:"The W3C traceparent of the recording span"`
	FannedOutAt   *time.Time `json:"fanned_out_at,omitempty"`
	Failures      int        `json:"failures,omitempty" doc:"Failed fan-outs since it was recorded or requeued"`
	LastError     string     `json:"last_error,omitempty" doc:"How the latest fan-out failed"`
	NextAttemptAt *time.Time `json:"next_attempt_at,omitempty"`
	PoisonedAt    *time.Time `json:"poisoned_at,omitempty"`
}

// AuditOwner makes an act on the event a line of its owner's.
func (e Event) AuditOwner() string { return e.OwnerID }

// EventID names one event.
type EventID struct {
	ID string `json:"id" doc:"The event's id" minLength:"1" maxLength:"40"`
}

// EventFilter selects events.
type EventFilter struct {
	Types   []string `json:"types,omitempty" doc:"Types by their full name; any of them" maxItems:"100"`
	OwnerID string   `json:"owner_id,omitempty"`
	Subject string   `json:"subject,omitempty"`
	Status  string   `json:"status,omitempty" enum:"pending,fanned,poisoned" doc:"pending waits for a relay, fanned has its jobs, poisoned was set aside"`
	Window
	Paging
}

// object is a JSON object whose bytes are kept as they came.
type object json.RawMessage

// Schema says that it is an object of anything.
func (object) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

func (o object) MarshalJSON() ([]byte, error) { return json.RawMessage(o).MarshalJSON() }

// UnmarshalJSON takes null for nothing given.
func (o *object) UnmarshalJSON(raw []byte) error {
	if string(raw) != "null" {
		*o = bytes.Clone(raw)
	}
	return nil
}

func declareEvents(r *Registry) error {
	return firstError(
		add(r, Op[EventFilter, Listed[Event]]{
			Name: "events.list", Summary: "List events, newest first, without their data", Access: Read, Run: listEvents,
		}),
		add(r, Op[EventID, EventTree]{
			Name: "events.get", Summary: "Show one event with its data, its jobs, its deliveries and their attempts", Access: Read, Run: getEvent,
		}),
		add(r, Op[EventRecord, Recorded]{
			Name: "events.record", Summary: "Record an event; with an id of your own a lost answer may be asked for again", Access: Record, Run: recordEvent,
		}),
		add(r, Op[EventID, Event]{
			Name: "events.requeue", Summary: "Put a poisoned event back in line", Access: Act, Run: requeueEvent,
		}),
		declareEventTypes(r),
		declareReplays(r),
	)
}

func listEvents(ctx context.Context, c *Call, in EventFilter) (Listed[Event], error) {
	owner, err := c.OwnerOr(in.OwnerID)
	if err != nil {
		return Listed[Event]{}, err
	}
	page, err := c.Events.List(ctx, events.Filter{
		Types: in.Types, OwnerID: owner, Subject: in.Subject, Status: events.Status(in.Status), Since: at(in.Since), Until: at(in.Until),
		Cursor: in.Cursor, Limit: in.Limit,
	})
	return listed(page.Events, page.Next, eventOf), err
}

// event answers an event that the caller may see.
func (c *Call) event(ctx context.Context, id string) (events.Detail, error) {
	read := c.Events.Get
	if c.Tx != nil {
		read = func(ctx context.Context, id string) (events.Detail, error) { return c.Events.Read(ctx, c.Tx, id) }
	}
	event, err := read(ctx, id)
	if err != nil {
		return events.Detail{}, hidden(err, "event", id)
	}
	return event, c.Mine(event.OwnerID, "event", id)
}

func requeueEvent(ctx context.Context, c *Call, in EventID) (Event, error) {
	if _, err := c.event(ctx, in.ID); err != nil {
		return Event{}, err
	}
	if err := c.Events.RequeueIn(ctx, c.Tx, in.ID); err != nil {
		return Event{}, err
	}
	event, err := c.event(ctx, in.ID)
	return eventOf(event), err
}

func eventOf(d events.Detail) Event {
	return Event{
		ID: d.ID, Type: d.Type, OwnerID: d.OwnerID, Subject: d.Subject, OccurredAt: d.OccurredAt, Status: string(d.Status), Trace: d.Trace,
		FannedOutAt: d.FannedOutAt, Failures: d.Attempts, LastError: d.LastError, NextAttemptAt: d.NextAttemptAt, PoisonedAt: d.PoisonedAt,
	}
}

// hidden tells what is not there in the words of Mine, so that nobody can tell another owner's thing from none.
func hidden(err error, what, id string) error {
	if isAny(err, jobs.ErrNotFound, events.ErrNotFound, events.ErrReplayNotFound, webhooks.ErrNotFound, mail.ErrNotFound, bulk.ErrNotFound) {
		return &Error{Code: NotFound, Message: missing(what, id), cause: err}
	}
	return fmt.Errorf("%s %q: %w", what, id, err)
}
