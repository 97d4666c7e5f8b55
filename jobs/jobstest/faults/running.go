package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/jobstest"
)

// running are faults of how handlers are called.
func running() []Fault {
	return []Fault{
		{Name: "a job runs twice at once", Case: "isolation/one-worker-at-a-time", Says: "ran twice at once", seed: twiceAtOnce},
		{Name: "a queue has more workers than it should", Case: "isolation/workers-are-the-limit", Says: "the handler ran 6 times, want 3", seed: moreWorkers},
		{Name: "a blocked queue blocks another", Case: "isolation/blocked-queue", Says: "not within", seed: sharedWorkers},
		{Name: "a panic kills the worker", Case: "panic/worker-survives", Says: "not within", seed: panicKills},
		{Name: "a timeout does not cancel the context", Case: "timeout/cancels-the-context", Says: "a timeout cancels the handler's context", seed: deafToTheEnd},
		{Name: "a timeout spends no attempt", Case: "timeout/spends-an-attempt", Says: "is pending, want [discarded]", seed: timeoutSnoozes},
		{Name: "the backoff is ignored", Case: "retry/backoff", Says: "is to run", seed: noBackoff},
		{Name: "kinds that are unknown are discarded", Case: "enqueue/unknown-kind-waits", Says: "the foreign job is discarded", seed: discardsForeign},
	}
}

func twiceAtOnce() seed {
	return runs(func(ctx context.Context, next jobs.Handler, args json.RawMessage) error {
		var both sync.WaitGroup
		var errs [2]error
		for n := range errs {
			both.Go(func() { errs[n] = next(ctx, args) })
		}
		both.Wait()
		return errors.Join(errs[:]...)
	})
}

func moreWorkers() seed {
	return seed{spec: func(spec jobstest.Spec) jobstest.Spec {
		queues := map[string]int{}
		for name, workers := range spec.Queues {
			queues[name] = 2 * workers
		}
		spec.Queues = queues
		return spec
	}}
}

// sharedWorkers has two workers for all queues together.
func sharedWorkers() seed {
	slots := make(chan struct{}, 2)
	return runs(func(ctx context.Context, next jobs.Handler, args json.RawMessage) error {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-slots }()
		return next(ctx, args)
	})
}

func panicKills() seed {
	var dead atomic.Bool
	return runs(func(ctx context.Context, next jobs.Handler, args json.RawMessage) error {
		if dead.Load() {
			<-ctx.Done()
			return ctx.Err()
		}
		defer func() {
			if value := recover(); value != nil {
				dead.Store(true)
				panic(value)
			}
		}()
		return next(ctx, args)
	})
}

func deafToTheEnd() seed {
	return runs(func(ctx context.Context, next jobs.Handler, args json.RawMessage) error {
		return next(context.WithoutCancel(ctx), args)
	})
}

func timeoutSnoozes() seed {
	return runs(func(ctx context.Context, next jobs.Handler, args json.RawMessage) error {
		err := next(ctx, args)
		if errors.Is(err, context.DeadlineExceeded) {
			return jobs.Snooze(time.Hour)
		}
		return err
	})
}

func noBackoff() seed {
	return seed{spec: func(spec jobstest.Spec) jobstest.Spec {
		for n, kind := range spec.Kinds {
			spec.Kinds[n].Backoff = func(attempt int) time.Duration {
				kind.Backoff(attempt)
				return 0
			}
		}
		return spec
	}}
}

func discardsForeign() seed {
	return seed{spec: func(spec jobstest.Spec) jobstest.Spec {
		if spec.App != "shop" {
			return spec
		}
		spec.Kinds = append(spec.Kinds, jobs.Kind{
			Name: "foreign", Queue: "common",
			Handle: func(context.Context, json.RawMessage) error { return jobs.Discard(fmt.Errorf("unknown kind")) },
		})
		return spec
	}}
}
