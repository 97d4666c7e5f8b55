package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/postbus/postbus/jobs"
)

// ending are faults of what becomes of a run.
func ending() []Fault {
	return []Fault{
		{Name: "an error completes", Case: "retry/last-attempt-discards", Says: "ended as completed", seed: errorCompletes},
		{Name: "a panic completes", Case: "panic/last-discards", Says: "ended as completed", seed: panicCompletes},
		{Name: "a discard retries", Case: "discard/ends-with-attempts-left", Says: "ended as completed", seed: discardRetries},
		{Name: "a snooze spends an attempt", Case: "snooze/spends-no-attempt", Says: "ended as discarded", seed: snoozeSpends},
		{Name: "a snooze forgets attempts", Case: "snooze/keeps-attempts", Says: "the handler ran 5 times", seed: snoozeForgets},
		{Name: "a snooze is too short", Case: "snooze/is-pending", Says: "a snoozed job is", seed: snoozeHurries},
		{Name: "Stop abandons running work", Case: "stop/lets-running-finish", Says: "Stop returned while a job ran", seed: stopAbandons},
		{Name: "Stop spends an attempt", Case: "stop/grace-ends", Says: "after 1 attempts", seed: stopSpends},
		{Name: "Wait returns before the end", Case: "wait/until-the-end", Says: "Wait returned before the end", seed: waitGuesses},
		{Name: "Wait never returns", Case: "wait/until-the-end", Says: "not within", seed: waitNever},
		{Name: "Wait ignores max", Case: "wait/at-max", Says: "Wait waits at most max", seed: waitNever},
		{Name: "Wait takes a failed attempt for the end", Case: "wait/over-retries", Says: "Wait returned before the end", seed: waitForTheFirst},
		{Name: "something late ends a retried job", Case: "retry/after-receipt", Says: "something late has ended it", seed: lateRecord},
	}
}

func errorCompletes() seed {
	return runs(func(ctx context.Context, next jobs.Handler, args json.RawMessage) error {
		err := next(ctx, args)
		if _, snoozed := jobs.SnoozedFor(err); snoozed || jobs.IsDiscard(err) {
			return err
		}
		return nil
	})
}

func panicCompletes() seed {
	return runs(func(ctx context.Context, next jobs.Handler, args json.RawMessage) error {
		defer func() { _ = recover() }()
		return next(ctx, args)
	})
}

func discardRetries() seed {
	return runs(func(ctx context.Context, next jobs.Handler, args json.RawMessage) error {
		err := next(ctx, args)
		if jobs.IsDiscard(err) {
			return fmt.Errorf("%v", err)
		}
		return err
	})
}

func snoozeSpends() seed {
	return runs(func(ctx context.Context, next jobs.Handler, args json.RawMessage) error {
		err := next(ctx, args)
		if _, snoozed := jobs.SnoozedFor(err); snoozed {
			return fmt.Errorf("%v", err)
		}
		return err
	})
}

func snoozeHurries() seed {
	return runs(func(ctx context.Context, next jobs.Handler, args json.RawMessage) error {
		err := next(ctx, args)
		if _, snoozed := jobs.SnoozedFor(err); snoozed {
			return jobs.Snooze(0)
		}
		return err
	})
}

// snoozeForgets gives a job that was snoozed the attempt back that it spent before.
func snoozeForgets() seed {
	var mu sync.Mutex
	owed := false
	return runs(func(ctx context.Context, next jobs.Handler, args json.RawMessage) error {
		err := next(ctx, args)
		mu.Lock()
		defer mu.Unlock()
		if _, snoozed := jobs.SnoozedFor(err); snoozed {
			owed = true
			return err
		}
		if err != nil && owed {
			owed = false
			return jobs.Snooze(0)
		}
		return err
	})
}

func stopAbandons() seed {
	return seed{stop: func(context.Context, func(context.Context) error) error { return nil }}
}

func stopSpends() seed {
	return changed(func(i *inspector) {
		i.job = func(job jobs.Job) jobs.Job {
			if job.State == jobs.Pending && job.Attempt == 0 {
				job.Attempt++
			}
			return job
		}
	})
}

func waitGuesses() seed {
	return seed{wait: func(context.Context, waitFunc, jobs.JobID, time.Duration) (jobs.State, bool) {
		return jobs.Completed, true
	}}
}

func waitNever() seed {
	return seed{wait: func(ctx context.Context, _ waitFunc, _ jobs.JobID, _ time.Duration) (jobs.State, bool) {
		<-ctx.Done()
		return "", false
	}}
}

// waitForTheFirst looks until the job is not pending or running.
func waitForTheFirst() seed {
	return seed{wait: func(ctx context.Context, next waitFunc, id jobs.JobID, _ time.Duration) (jobs.State, bool) {
		for ctx.Err() == nil {
			if state, final := next(ctx, id, time.Millisecond); final || state == jobs.Retryable {
				return state, final
			}
		}
		return "", false
	}}
}

var errNotYet = errors.New("not yet")

// lateRecord ends a job that was retried once it runs again.
func lateRecord() seed {
	return changed(func(i *inspector) {
		i.retry = func(ctx context.Context, id jobs.JobID) (jobs.Job, error) {
			job, err := i.Inspector.Retry(ctx, id)
			if err != nil {
				return job, err
			}
			return job, errors.Join(i.until(ctx, id, jobs.Running), i.drop(ctx, id), i.until(ctx, id, jobs.Cancelled))
		}
	})
}

func (i *inspector) drop(ctx context.Context, id jobs.JobID) error {
	_, err := i.Inspector.Cancel(ctx, id)
	return err
}

// until looks until the job is in the state.
func (i *inspector) until(ctx context.Context, id jobs.JobID, state jobs.State) error {
	for {
		job, err := i.Inspector.Get(ctx, id)
		if err != nil || job.State == state {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(errNotYet, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}
