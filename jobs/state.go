package jobs

// State is where a job stands. Pending, running and retryable jobs are unfinished; the other three are final.
type State string

const (
	// Pending jobs wait for a worker, or for their RunAt.
	Pending State = "pending"
	// Running jobs are held by a worker.
	Running State = "running"
	// Retryable jobs failed at least once and wait for their next attempt.
	Retryable State = "retryable"
	// Completed jobs ended well. They are pruned after 24 hours by default.
	Completed State = "completed"
	// Discarded jobs failed for good. They are pruned after 30 days by default, and never before they were acknowledged.
	Discarded State = "discarded"
	// Cancelled jobs were ended from outside. They are pruned after 24 hours by default.
	Cancelled State = "cancelled"
)

// States lists every state in the order in which a job may pass through them.
func States() []State {
	return []State{Pending, Running, Retryable, Completed, Discarded, Cancelled}
}

// Final reports whether a job in this state has ended.
func (s State) Final() bool {
	return s == Completed || s == Discarded || s == Cancelled
}
