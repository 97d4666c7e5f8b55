package jobs

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// JobID names one job. It is opaque: compare it, print it, hand it back, nothing else.
type JobID string

// Jobs makes jobs.
type Jobs interface {
	// With answers a Jobs that writes through tx: what it makes exists if and only if tx commits.
	With(tx pgx.Tx) Jobs

	// Enqueue makes one job of the kind. args is a JSON object: a json.RawMessage is stored as it is, anything else is
	// marshalled by encoding/json. See EnqueueOpts for the rest.
	Enqueue(ctx context.Context, kind string, args any, opts EnqueueOpts) (JobID, error)

	// EnqueueMany makes all the jobs or none, in one round trip, and answers their ids in the order of the batch.
	// Two entries of one batch that are duplicates under UniqueByArgs answer with one id.
	EnqueueMany(ctx context.Context, batch []EnqueueParams) ([]JobID, error)
}

// EnqueueOpts says how one job is made. The zero value is a job that may run now.
type EnqueueOpts struct {
	// RunAt is the earliest time the job may run, to the microsecond. The zero time means now.
	RunAt time.Time

	// UniqueByArgs makes at most one job of this kind with these args: from pending to completed, until it is pruned,
	// a second one answers with the id that stands. Args are compared as canonical JSON (key order and white space do not
	// matter). A discarded or cancelled job does not stand in the way of a new one.
	UniqueByArgs bool

	// Owner is the tenant for whom the job is made; lists filter on it. Optional.
	Owner string

	// Trace is the trace context (W3C traceparent) carried to the handler. Defaults to that of the span in the context.
	Trace string

	// Queue overrides the kind's queue. It must be given, as MaxAttempts must, for a kind that this process does not declare.
	Queue string

	// MaxAttempts overrides the kind's attempts. Range 1 to 1000.
	MaxAttempts int

	// Ran says that the work was tried already, by the job of several, and what came of it: what a handler answers. The job
	// begins as if its own first attempt had ended so. After a Snooze it waits as long, with no attempt spent; a Discard makes
	// it discarded; any other error is kept as its first attempt's, and the next follows the kind's Backoff, or none does where
	// MaxAttempts is 1. RunAt and UniqueByArgs are then not for it. Nil means that nothing was tried.
	Ran error
}

// EnqueueParams is one entry of EnqueueMany.
type EnqueueParams struct {
	Kind string
	Args any
	Opts EnqueueOpts
}

// Runtime runs the declared kinds and periodics, and is the way to everything about them.
type Runtime interface {
	Jobs

	// Inspector looks at and repairs the jobs of the whole database, this process's kinds and others'.
	Inspector() Inspector

	// Leases hands jobs of external kinds to workers.
	Leases() Leases

	// Wait waits until the job has ended, at most max, and answers its state and whether that state is final. It looks at
	// the row first and again after it has subscribed; a lost notification costs a short poll, never the answer. A job
	// that does not exist, and a database that does not answer, give ("", false).
	Wait(ctx context.Context, id JobID, max time.Duration) (State, bool)

	// Start begins to fetch and run jobs. It does not block.
	Start(ctx context.Context) error

	// Stop stops fetching, lets running jobs finish within the grace period (20 s by default), then cancels their
	// contexts; those go back to their queue without spending an attempt. Never started and twice are fine.
	Stop(ctx context.Context) error
}
