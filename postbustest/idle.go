package postbustest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
)

// RunUntilIdle starts the bus, waits until every recorded event has its jobs and no job is pending, running or retryable, and
// stops it. Events that handlers record meanwhile count. A job that waits for its RunAt keeps the bus busy. When the bus is
// not idle within max the test fails with what is left. A bus can be run once.
func RunUntilIdle(t testing.TB, bus *postbus.Bus, max time.Duration) {
	t.Helper()
	if err := bus.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := bus.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	WaitIdle(t, bus, max)
}

// WaitIdle waits until a bus that runs has nothing left to do; see RunUntilIdle.
func WaitIdle(t testing.TB, bus *postbus.Bus, max time.Duration) {
	t.Helper()
	wait.Eventually(t, max, func() (bool, string) {
		why, err := busy(context.Background(), bus)
		if err != nil {
			return false, err.Error()
		}
		return why == "", why
	})
}

// busy says what is left to do. Events are looked at first: an event that is fanned out between the two looks has its jobs.
func busy(ctx context.Context, bus *postbus.Bus) (string, error) {
	page, err := bus.Events().List(ctx, events.Filter{Status: events.Pending, Limit: 1})
	if err != nil {
		return "", err
	}
	if len(page.Events) > 0 {
		e := page.Events[0]
		return fmt.Sprintf("event %s (%s) waits for its fan-out: attempts %d, last error %q", e.ID, e.Type, e.Attempts, e.LastError), nil
	}
	open, err := bus.Inspector().List(ctx, jobs.Filter{States: []jobs.State{jobs.Pending, jobs.Running, jobs.Retryable}, Limit: 1})
	if err != nil {
		return "", err
	}
	if len(open.Jobs) > 0 {
		j := open.Jobs[0]
		return fmt.Sprintf("job %s (%s) is %s, attempt %d of %d, errors %+v", j.ID, j.Kind, j.State, j.Attempt, j.MaxAttempts, j.Errors), nil
	}
	return "", nil
}
