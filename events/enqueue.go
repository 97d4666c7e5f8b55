package events

import (
	"encoding/json"
	"time"

	"github.com/postbus/postbus/jobs"
)

// Enqueue is the type of the events that postbus.enqueue records: each makes the one job that it describes and is nobody's to
// subscribe to. The fan-out names the job under this name.
const Enqueue = "postbus.enqueue"

// enqueueing is the relay as a target of such events.
var enqueueing = target{name: Enqueue, types: []string{Enqueue}, enqueues: true}

// enqueued is the job that an event of postbus.enqueue describes. What cannot be read makes a job without a kind, which the queue
// refuses: the event is poisoned for it.
func enqueued(e claimedEvent) jobs.EnqueueParams {
	var job struct {
		Kind        string          `json:"kind"`
		Queue       string          `json:"queue"`
		MaxAttempts int             `json:"max_attempts"`
		RunAt       *time.Time      `json:"run_at"`
		Args        json.RawMessage `json:"args"`
	}
	if err := json.Unmarshal([]byte(e.Enqueued), &job); err != nil {
		return jobs.EnqueueParams{}
	}
	params := jobs.EnqueueParams{Kind: job.Kind, Args: job.Args, Opts: jobs.EnqueueOpts{
		Owner: e.OwnerID, Trace: e.Trace, Queue: job.Queue, MaxAttempts: job.MaxAttempts,
	}}
	if job.RunAt != nil {
		params.Opts.RunAt = *job.RunAt
	}
	return params
}
