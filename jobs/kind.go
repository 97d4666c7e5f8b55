package jobs

import (
	"context"
	"encoding/json"
	"time"
)

// Handler does the work of one job. It must be idempotent. ctx ends at the kind's Timeout, when the job is cancelled and
// when the process stops; args are the JSON object as it was enqueued, up to key order and white space.
type Handler func(ctx context.Context, args json.RawMessage) error

// Kind declares what one kind of job is and how it runs.
type Kind struct {
	// Name is dotted lower-case words (a-z, 0-9, _ and -), at most 120 bytes, for instance "notebook.index".
	Name string

	// Queue isolates: a queue that is blocked never delays another. Defaults to "default".
	Queue string

	// MaxAttempts is how often a job may run before it is discarded. Defaults to 8.
	MaxAttempts int

	// Timeout bounds one attempt. Defaults to 1 minute. -1 means none.
	Timeout time.Duration

	// Backoff gives the wait before the next attempt. Defaults to DefaultBackoff.
	Backoff Backoff

	// Receipt marks a kind whose end somebody waits for: its jobs are recorded as ended within milliseconds,
	// in small groups, where others are recorded in larger and later ones.
	Receipt bool

	// HoldsConn says that the handler keeps a database connection while it runs; the pool budget counts it.
	HoldsConn bool

	// External says that workers outside of Go processes do the work: see Leases. Such a kind has no Handle and no Queue: it has
	// one to itself, "work." and its name, which is therefore at most 59 bytes long. Its Timeout is the default lease, and its
	// Backoff is asked once for each attempt, when the kind is declared.
	External bool

	// Handle does the work.
	Handle Handler
}

// Periodic declares work that runs by the clock, once per tick over all instances of the application.
type Periodic struct {
	// Name is unique within the application and reads like a Kind's name.
	Name string

	// Every is the time between ticks, at least 1 s; ticks are aligned to the Unix epoch in UTC. Either Every or Cron.
	Every time.Duration

	// Cron is a five-field expression in UTC, or a descriptor such as "@hourly".
	Cron string

	// Timeout bounds one run. Defaults to 5 minutes.
	Timeout time.Duration

	// Run does the work. It is retried on failure like any handler, 3 attempts.
	Run func(ctx context.Context) error
}
