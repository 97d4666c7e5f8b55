package faults

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/postbus/postbus/jobs"
)

// leasing are faults of jobs in the hands of workers outside of the Runtime.
func leasing() []Fault {
	return []Fault{
		{Name: "two workers hold one lease", Case: "external/one-holder", Says: "all claims together", seed: heldTwice},
		{Name: "a lost lease completes", Case: "external/lease-ends", Says: "want ErrLeaseLost", seed: lostCompletes},
		{Name: "a lease is longer than it says", Case: "external/lease-ends", Says: "not within", seed: endlessLease},
		{Name: "an external snooze spends an attempt", Case: "external/snooze", Says: "want pending", seed: failureFor(jobs.FailSnooze, jobs.FailRetry)},
		{Name: "an external discard retries", Case: "external/discard", Says: "want discarded", seed: failureFor(jobs.FailDiscard, jobs.FailRetry)},
		{Name: "an external result is lost", Case: "external/complete", Says: "the result", seed: lostResult},
	}
}

// bentLeases are an adapter's with a fault in them. What is nil is passed on.
type bentLeases struct {
	jobs.Leases
	claim    func(ctx context.Context, next jobs.Leases, claim jobs.Claim) ([]jobs.Leased, error)
	complete func(ctx context.Context, next jobs.Leases, id jobs.LeaseID, result json.RawMessage) error
	fail     func(ctx context.Context, next jobs.Leases, id jobs.LeaseID, failure jobs.Failure) (jobs.State, error)
}

func (b bentLeases) seed() seed {
	return seed{leases: func(whole jobs.Leases) jobs.Leases {
		bent := b // one for each call: they come from many goroutines
		bent.Leases = whole
		return bent
	}}
}

func (b bentLeases) Claim(ctx context.Context, claim jobs.Claim) ([]jobs.Leased, error) {
	if b.claim == nil {
		return b.Leases.Claim(ctx, claim)
	}
	return b.claim(ctx, b.Leases, claim)
}

func (b bentLeases) Complete(ctx context.Context, id jobs.LeaseID, result json.RawMessage) error {
	if b.complete == nil {
		return b.Leases.Complete(ctx, id, result)
	}
	return b.complete(ctx, b.Leases, id, result)
}

func (b bentLeases) Fail(ctx context.Context, id jobs.LeaseID, failure jobs.Failure) (jobs.State, error) {
	if b.fail == nil {
		return b.Leases.Fail(ctx, id, failure)
	}
	return b.fail(ctx, b.Leases, id, failure)
}

// heldTwice gives the first job that was claimed to the next claim, too.
func heldTwice() seed {
	var mu sync.Mutex
	var first []jobs.Leased
	return bentLeases{claim: func(ctx context.Context, next jobs.Leases, claim jobs.Claim) ([]jobs.Leased, error) {
		got, err := next.Claim(ctx, claim)
		mu.Lock()
		defer mu.Unlock()
		if len(first) == 1 && len(got) > 0 {
			got = append(got, first[0])
			first = append(first, first[0])
		}
		if len(first) == 0 && len(got) > 0 {
			first = got[:1:1]
		}
		return got, err
	}}.seed()
}

func lostCompletes() seed {
	return bentLeases{complete: func(ctx context.Context, next jobs.Leases, id jobs.LeaseID, result json.RawMessage) error {
		if err := next.Complete(ctx, id, result); !errors.Is(err, jobs.ErrLeaseLost) {
			return err
		}
		return nil
	}}.seed()
}

func endlessLease() seed {
	return bentLeases{claim: func(ctx context.Context, next jobs.Leases, claim jobs.Claim) ([]jobs.Leased, error) {
		claim.Lease = time.Hour
		return next.Claim(ctx, claim)
	}}.seed()
}

func failureFor(said, done jobs.FailHow) func() seed {
	return func() seed {
		return bentLeases{fail: func(ctx context.Context, next jobs.Leases, id jobs.LeaseID, failure jobs.Failure) (jobs.State, error) {
			if failure.How == said {
				failure.How, failure.Error = done, "failed"
			}
			return next.Fail(ctx, id, failure)
		}}.seed()
	}
}

func lostResult() seed {
	return bentLeases{complete: func(ctx context.Context, next jobs.Leases, id jobs.LeaseID, _ json.RawMessage) error {
		return next.Complete(ctx, id, json.RawMessage("null"))
	}}.seed()
}
