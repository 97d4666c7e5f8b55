package events

import (
	"encoding/json"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/jobs"
)

// Event is one recorded fact.
type Event struct {
	// ID is a UUID, stable for ever: the idempotency key of everything done about the event.
	ID string
	// Seq orders a list. It is not the order of commits and must not be used as a cursor.
	Seq        int64
	Type       string
	OwnerID    string
	Subject    string
	OccurredAt time.Time
	// Data has the bytes as they were recorded.
	Data json.RawMessage
	// Trace is the W3C traceparent of the recording span, or "".
	Trace string
}

// Detail is an event and what became of it.
type Detail struct {
	Event
	Status Status
	// Fanout names the job that each subscription got. Two subscriptions or events never share one, except where a coalescing
	// subscription covered this event by a later one's job, and where the job is a wide one (Subscription.Batch).
	Fanout      map[string]jobs.JobID
	FannedOutAt *time.Time
	// Attempts counts failed fan-outs since the event was recorded or requeued; LastError is the latest of them.
	Attempts      int
	LastError     string
	NextAttemptAt *time.Time
	PoisonedAt    *time.Time
}

// Status is where an event stands.
type Status string

const (
	// Pending events wait for a relay.
	Pending Status = "pending"
	// Fanned events have their jobs.
	Fanned Status = "fanned"
	// Poisoned events were set aside after repeated failures.
	Poisoned Status = "poisoned"
)

func eventOf(row eventsql.PostbusEvent) Event {
	return Event{
		ID: row.ID, Seq: row.Seq, Type: row.Type, OwnerID: row.OwnerID, Subject: row.Subject,
		OccurredAt: row.OccurredAt.UTC(), Data: row.Data, Trace: deref(row.Trace),
	}
}

func detailOf(row eventsql.PostbusEvent) (Detail, error) {
	d := Detail{
		Event:  eventOf(row),
		Status: Pending, FannedOutAt: row.FannedOutAt, Attempts: int(row.Attempts),
		LastError: deref(row.LastError), NextAttemptAt: row.NextAttemptAt, PoisonedAt: row.PoisonedAt,
	}
	switch {
	case row.PoisonedAt != nil:
		d.Status = Poisoned
	case row.FannedOutAt != nil:
		d.Status = Fanned
	}
	var err error
	d.Fanout, err = decodeFanout(row.Fanout)
	return d, err
}

func decodeFanout(raw []byte) (map[string]jobs.JobID, error) {
	if raw == nil {
		return nil, nil
	}
	var fanout map[string]jobs.JobID
	err := json.Unmarshal(raw, &fanout)
	return fanout, err
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
