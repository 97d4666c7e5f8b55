package jobstest

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/jobs"
)

// Harness is how the suite gets at an adapter. The package documentation says what each part must do.
type Harness struct {
	// Database answers a pool on a fresh database with the adapter's tables. It is the case's own way in, beside the
	// instances', and stays open until t's cleanups.
	Database func(t testing.TB) *pgxpool.Pool

	// New makes one instance on the pool's database, not started. Everything it does goes through connections made from
	// pool.Config(). What it needs beside the Runtime is closed by t.Cleanup.
	New func(t testing.TB, pool *pgxpool.Pool, spec Spec) (jobs.Runtime, error)

	// Lacks names what the adapter cannot do and refuses with errors.ErrUnsupported.
	Lacks []Capability

	// Patience is how long a thing that must happen may take. Defaults to 10 s.
	Patience time.Duration
}

// Spec is one instance of one application.
type Spec struct {
	// App is the application. The suite always sets it.
	App string

	// Instance is the instance's name, unique within the case. The suite always sets it; Job.Instance must answer it.
	Instance string

	// Kinds and Periodics are what the application declares.
	Kinds     []jobs.Kind
	Periodics []jobs.Periodic

	// Queues maps every queue that the instance works on to its number of workers. The suite names each queue of Kinds;
	// an adapter adds the queue on which it runs periodics.
	Queues map[string]int

	// Grace is how long Stop lets running jobs go on. The suite always sets it.
	Grace time.Duration
}

// Capability is something that an adapter may lack.
type Capability string

const (
	// CancelRunning is asking a running job to stop.
	CancelRunning Capability = "cancel-running"
	// External is kinds whose work is done outside of the Runtime: New refuses a Spec that declares any.
	External Capability = "external"
	// FilterArgs is Filter.Args.
	FilterArgs Capability = "filter-args"
	// PauseQueues is Inspector.Pause and Resume.
	PauseQueues Capability = "pause-queues"
	// Periodics is work by the clock: New refuses a Spec that declares any.
	Periodics Capability = "periodics"
	// UniqueByArgs is EnqueueOpts.UniqueByArgs.
	UniqueByArgs Capability = "unique-by-args"
)
