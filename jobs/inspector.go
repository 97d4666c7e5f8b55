package jobs

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"
)

// Inspector looks at jobs and repairs them. Acting on a job that is not there answers ErrNotFound.
type Inspector interface {
	// With answers an Inspector that reads and writes through tx, so that an act and its audit row commit together.
	With(tx pgx.Tx) Inspector

	// Overview counts jobs per state, of one kind or ("") of all. Unfinished states are exact up to a cap, finished ones
	// may be estimates and say so: it stays fast on millions of finished rows.
	Overview(ctx context.Context, kind string) (Overview, error)

	// List answers a page of jobs, newest first.
	List(ctx context.Context, filter Filter) (Page, error)

	// Get answers one job with every attempt's error.
	Get(ctx context.Context, id JobID) (Job, error)

	// Retry makes a job that is retryable or final run again now, whatever attempts it has spent; a job that is pending
	// or running is left as it is. It answers the job as it then stands.
	Retry(ctx context.Context, id JobID) (Job, error)

	// Cancel ends a pending, retryable or discarded job as cancelled at once, and asks a running one to stop: its context
	// is cancelled and it ends as cancelled, unless it completes first. A completed job is left as it is.
	Cancel(ctx context.Context, id JobID) (Job, error)

	// Acknowledge ends the alert of a discarded job and keeps the job.
	Acknowledge(ctx context.Context, id JobID) error

	// Count answers how many jobs match, whatever the cursor: exactly up to filter.Limit (default 10,000, at most 1,000,000),
	// and beyond it that limit with About set. It is one look, not a walk over pages.
	Count(ctx context.Context, filter Filter) (Count, error)

	// ListIDs answers what List does, in its order and with its cursors, as ids only: at most filter.Limit of them (default
	// and cap 10,000).
	ListIDs(ctx context.Context, filter Filter) (IDPage, error)

	// RetryMany, CancelMany and AcknowledgeMany act on the jobs that match, the newest first, at most filter.Limit of them
	// (default and cap 10,000), and answer how many they changed. Call again until it is 0: then all that could be changed
	// are. What cannot (a retry beside another job that holds the unique key) is passed over, and holds up nothing.
	RetryMany(ctx context.Context, filter Filter) (int, error)
	CancelMany(ctx context.Context, filter Filter) (int, error)
	AcknowledgeMany(ctx context.Context, filter Filter) (int, error)

	// Unfinished answers those of the ids that have not ended.
	Unfinished(ctx context.Context, ids []JobID) ([]JobID, error)

	// Periodics lists every application's periodics with their last and next run.
	Periodics(ctx context.Context) ([]PeriodicStatus, error)

	// RunPeriodic runs one now, apart from its schedule. PausePeriodic stops its ticks until ResumePeriodic.
	RunPeriodic(ctx context.Context, app, name string) (JobID, error)
	PausePeriodic(ctx context.Context, app, name string) error
	ResumePeriodic(ctx context.Context, app, name string) error

	// Queues lists the queues with their unfinished jobs. Pause stops fetching from one in every process; jobs that run
	// go on. Resume ends that.
	Queues(ctx context.Context) ([]QueueStatus, error)
	Pause(ctx context.Context, queue string) error
	Resume(ctx context.Context, queue string) error
}

// Job is one job as it stands.
type Job struct {
	ID          JobID
	Kind        string
	Queue       string
	State       State
	Args        json.RawMessage
	Owner       string
	Trace       string
	Attempt     int // attempts begun so far; snoozes do not count
	MaxAttempts int
	Snoozes     int
	CreatedAt   time.Time
	RunAt       time.Time  // when it may run next, or was to run last
	AttemptedAt *time.Time // when the latest attempt began
	FinishedAt  *time.Time
	Instance    string // the instance, or the worker of an external kind, that holds, or last held, the job
	// Until is when the lease of a running job of an external kind ends.
	Until *time.Time
	// Result is what the handler said by SetResult, or the worker on completing; nil where nothing.
	Result json.RawMessage
	Errors []AttemptError
	// Acknowledged says that somebody has taken note of this discarded job.
	Acknowledged bool
}

// AttemptError is how one attempt failed.
type AttemptError struct {
	Attempt int
	At      time.Time
	Error   string
	// Stack is the stack of a panic, else empty.
	Stack string
}

// Filter selects jobs. Zero fields do not select.
type Filter struct {
	IDs     []JobID
	Kinds   []string
	Queues  []string
	States  []State
	Owner   string
	Args    json.RawMessage // a JSON object that the job's args contain
	After   time.Time       // created at or after
	Before  time.Time       // created before
	Cursor  string          // Page.Next of the page before
	Limit   int             // default 50; a page has at most 200
	Unacked bool            // only discarded jobs that nobody has acknowledged
}

// Page is one page of a list. Next is "" on the last one. A page may have fewer jobs than its limit, even none, and a Next: where few
// match, it has looked at as many jobs as it may.
type Page struct {
	Jobs []Job
	Next string
}

// IDPage is one page of ids. Next is "" on the last one.
type IDPage struct {
	IDs  []JobID
	Next string
}

// Count is a number of jobs. About says that it is an estimate, or that counting stopped at a cap.
type Count struct {
	N     int64
	About bool
}

// Overview is the state of the queue at a glance.
type Overview struct {
	States map[State]Count
	// Kinds has the unfinished and discarded jobs per kind, for kinds that have any.
	Kinds map[string]KindCounts
	// OldestPending is when the longest-waiting job that may run now could first have run; nil where none waits.
	OldestPending *time.Time
	// Unacked counts discarded jobs that nobody has retried, cancelled or acknowledged.
	Unacked Count
}

// KindCounts are one kind's jobs that need a worker or an operator.
type KindCounts struct {
	Pending, Running, Retryable, Discarded Count
}

// PeriodicStatus is one periodic and how it went.
type PeriodicStatus struct {
	App        string
	Name       string
	Schedule   string // "every 1m0s" or the cron expression
	Paused     bool
	Next       *time.Time // nil while paused
	LastSlot   *time.Time // the tick that ran last
	LastRunAt  *time.Time // when it began
	LastResult string     // "", "running", "ok" or "failed"
	LastError  string
	LastJob    JobID
}

// QueueStatus is one queue.
type QueueStatus struct {
	Name      string
	Paused    bool
	Workers   int // of this process
	Pending   Count
	Running   Count
	Retryable Count
}
