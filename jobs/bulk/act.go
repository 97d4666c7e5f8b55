package bulk

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/bulksql"
	"github.com/postbus/postbus/jobs"
)

// ErrNotFound says that there is no such act, or that it has been pruned.
var ErrNotFound = errors.New("bulk act not found")

// Verb is what an act does to each job.
type Verb string

const (
	// Retry makes jobs that are retryable or final run again now.
	Retry Verb = "retry"
	// Cancel ends jobs that have not ended well.
	Cancel Verb = "cancel"
	// Acknowledge takes note of discarded jobs: their alert ends, they stay.
	Acknowledge Verb = "acknowledge"
)

// States answers those of the states that the act changes; where none is asked for, those that it is usually meant for.
func (v Verb) States(asked []jobs.State) []jobs.State {
	var usual, can []jobs.State
	switch v {
	case Retry:
		usual = []jobs.State{jobs.Retryable, jobs.Discarded}
		can = []jobs.State{jobs.Retryable, jobs.Completed, jobs.Discarded, jobs.Cancelled}
	case Cancel:
		usual = []jobs.State{jobs.Pending, jobs.Running, jobs.Retryable, jobs.Discarded}
		can = usual
	case Acknowledge:
		usual = []jobs.State{jobs.Discarded}
		can = usual
	}
	if len(asked) == 0 {
		return usual
	}
	return slices.DeleteFunc(slices.Clone(asked), func(s jobs.State) bool { return !slices.Contains(can, s) })
}

// State is where an act stands.
type State string

const (
	// Pending acts wait for a worker.
	Pending State = "pending"
	// Running acts have begun.
	Running State = "running"
	// Done acts have come by every job.
	Done State = "done"
	// Cancelled acts were stopped, or their job was cancelled; what they had changed stays.
	Cancelled State = "cancelled"
	// Failed acts cannot go on; retrying their job makes them try from where they were.
	Failed State = "failed"
)

// Spec says what to do, to which jobs, and who wants it.
type Spec struct {
	Verb Verb
	// Filter selects the jobs. Its Cursor and Limit do not count. Where it names no states the usual ones of the verb are meant.
	Filter jobs.Filter
	// Who is shown with the act. Optional.
	Who string
}

// Act is an act as it stands.
type Act struct {
	ID string
	Spec
	State State
	// Matched is how many jobs matched when the act was asked for, counted up to 10,000, and once it has begun how many
	// matched then, counted up to 1,000,000.
	Matched jobs.Count
	// Seen counts the jobs that it came by, Changed those that it changed: others had changed meanwhile, or could not be.
	Seen, Changed int64
	// Progress is the part of the way that is behind it, 0 to 1.
	Progress float64
	// Error is why it failed, or its last setback while it runs.
	Error string
	// JobID is the job that does it.
	JobID                jobs.JobID
	CreatedAt, UpdatedAt time.Time
	StartedAt            *time.Time
	FinishedAt           *time.Time
}

// Open says whether it may still change something.
func (a Act) Open() bool { return a.State == Pending || a.State == Running }

// stored is a filter as it is kept. The owner has a column of its own.
type stored struct {
	IDs     []jobs.JobID    `json:"ids,omitempty"`
	Kinds   []string        `json:"kinds,omitempty"`
	Queues  []string        `json:"queues,omitempty"`
	States  []jobs.State    `json:"states,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
	After   time.Time       `json:"after,omitzero"`
	Before  time.Time       `json:"before,omitzero"`
	Unacked bool            `json:"unacked,omitempty"`
}

func storedFilter(f jobs.Filter) (json.RawMessage, error) {
	return json.Marshal(stored{
		IDs: f.IDs, Kinds: f.Kinds, Queues: f.Queues, States: f.States, Args: f.Args, After: f.After, Before: f.Before, Unacked: f.Unacked,
	})
}

func actOf(row bulksql.PostbusBulkAct) (Act, error) {
	var f stored
	if err := json.Unmarshal(row.Filter, &f); err != nil {
		return Act{}, fmt.Errorf("%w: the filter of bulk act %s: %w", jobs.ErrInvalid, row.ID, err)
	}
	a := Act{
		ID: row.ID, State: State(row.State), Matched: jobs.Count{N: row.Matched, About: row.About}, Seen: row.Seen, Changed: row.Changed,
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), StartedAt: row.StartedAt, FinishedAt: row.FinishedAt,
		Spec: Spec{Verb: Verb(row.Act), Who: row.Who, Filter: jobs.Filter{
			IDs: f.IDs, Kinds: f.Kinds, Queues: f.Queues, States: f.States, Owner: row.OwnerID, Args: f.Args,
			After: f.After, Before: f.Before, Unacked: f.Unacked,
		}},
	}
	if row.JobID != nil {
		a.JobID = jobs.JobID(*row.JobID)
	}
	if row.LastError != nil {
		a.Error = *row.LastError
	}
	a.Progress = progress(a)
	return a, nil
}

// progress is 1 when the act is done and not before: what matched was counted at the start, and may have been more.
func progress(a Act) float64 {
	const almost = 0.99
	switch {
	case a.State == Done:
		return 1
	case a.Matched.N == 0:
		return 0
	}
	return min(float64(a.Seen)/float64(a.Matched.N), almost)
}
