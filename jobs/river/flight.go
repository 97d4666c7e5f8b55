package river

import (
	"context"
	"sync"
	"time"

	"github.com/riverqueue/river/rivertype"
)

// runKey names one run of a job: no two runs of a job are fetched at the same time.
type runKey struct {
	id        int64
	attempted int64 // microseconds since 1970, as Postgres keeps them
}

func keyOf(id int64, attemptedAt *time.Time) runKey {
	if attemptedAt == nil {
		return runKey{id: id}
	}
	return runKey{id: id, attempted: attemptedAt.UnixMicro()}
}

// flight is a run that this process holds, from its fetch until its outcome is recorded.
type flight struct {
	runKey
	attempt int
	kind    string
	cancel  context.CancelCauseFunc // nil until the handler begins
	asked   error                   // why it is to be cancelled
	running bool                    // the handler is at work
}

// flights are the runs that this process holds.
type flights struct {
	mu   sync.Mutex
	held map[runKey]*flight
}

func newFlights() *flights { return &flights{held: map[runKey]*flight{}} }

// fetched notes what a fetch answered.
func (f *flights) fetched(rows []*rivertype.JobRow) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, row := range rows {
		key := keyOf(row.ID, row.AttemptedAt)
		f.held[key] = &flight{runKey: key, attempt: row.Attempt, kind: row.Kind}
	}
}

// begin notes that the handler is about to run, and how to cancel it.
func (f *flights) begin(row *rivertype.JobRow, cancel context.CancelCauseFunc) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := keyOf(row.ID, row.AttemptedAt)
	run, ok := f.held[key]
	if !ok { // taken for lost in between
		run = &flight{runKey: key, attempt: row.Attempt, kind: row.Kind}
		f.held[key] = run
	}
	run.cancel, run.running = cancel, true
	if run.asked != nil {
		cancel(run.asked)
	}
	return run
}

// returned notes that the handler has.
func (f *flights) returned(run *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	run.running = false
}

// settled forgets runs whose outcome is recorded.
func (f *flights) settled(keys []runKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range keys {
		delete(f.held, key)
	}
}

func (f *flights) holds(key runKey) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.held[key]
	return ok
}

// ask cancels the run's context for the given reason, now or as soon as its handler begins.
func (f *flights) ask(key runKey, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	run, ok := f.held[key]
	if !ok || run.asked != nil {
		return
	}
	run.asked = why
	if run.cancel != nil {
		run.cancel(why)
	}
}

// running answers the runs whose handler has not returned, and those that were fetched and never began.
func (f *flights) unreturned() []flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	var left []flight
	for _, run := range f.held {
		if run.running || run.cancel == nil {
			left = append(left, *run)
		}
	}
	return left
}
