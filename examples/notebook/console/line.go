package console

import (
	"fmt"
	"strings"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/examples/notebook/indexing"
	"github.com/postbus/postbus/jobs"
)

// Line is one event and what became of it.
type Line struct {
	EventID string
	Subject string
	Op      string // insert, update or delete
	JobID   jobs.JobID
	Shared  bool // a later event's job covers this one
	State   jobs.State
	Attempt int
	TookMS  int64 // from the event to the end of its job
	Error   string
}

// Done says that nothing more will happen by itself.
func (l Line) Done() bool { return l.State.Final() }

// Event is the event's id, shortened.
func (l Line) Event() string { return short(l.EventID) }

// Note is the note's id, shortened.
func (l Line) Note() string { return short(l.Subject) }

// Kind is the kind of the job.
func (l Line) Kind() string { return indexing.Index }

func short(id string) string {
	if len(id) <= 4 {
		return id
	}
	return id[:4] + "…"
}

// End says in words where the job stands.
func (l Line) End() string {
	switch l.State {
	case jobs.Completed:
		return fmt.Sprintf("done %d ms", l.TookMS)
	case jobs.Retryable:
		return fmt.Sprintf("attempt %d failed, tries again", l.Attempt)
	case "":
		return "waits for the relay"
	}
	return string(l.State)
}

// String is the line as the terminal shows it.
func (l Line) String() string {
	event := "event " + strings.TrimPrefix(indexing.Changed, indexing.App+".") + " " + l.Event()
	if l.JobID == "" {
		return event + " → " + l.End()
	}
	job := "job " + string(l.JobID)
	if l.Shared {
		job += " (coalesced)"
	}
	return fmt.Sprintf("%s → %s %s → %s", event, job, l.Kind(), l.End())
}

// lineOf joins an event and its job. A job that is gone was pruned after it ended.
func lineOf(e events.Detail, op string, byID map[jobs.JobID]jobs.Job) Line {
	l := Line{EventID: e.ID, Subject: e.Subject, Op: op, JobID: e.Fanout[indexing.Index]}
	job, ok := byID[l.JobID]
	if !ok {
		return l
	}
	l.State, l.Attempt = job.State, job.Attempt
	if n := len(job.Errors); n > 0 && job.State != jobs.Completed {
		l.Error = job.Errors[n-1].Error
	}
	if job.FinishedAt != nil {
		l.TookMS = max(job.FinishedAt.Sub(e.OccurredAt).Milliseconds(), 0)
	}
	return l
}
