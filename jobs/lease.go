package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ExternalQueues begins the name of the queue that each external kind has to itself: "work." and the kind's name.
const ExternalQueues = "work."

// Limits of leases.
const (
	MinLease       = time.Second
	MaxLease       = 24 * time.Hour
	MaxClaim       = 100 // jobs of one Claim
	MaxWorkerBytes = 120
	MaxResultBytes = 64 << 10
)

// ErrLeaseLost says that a worker no longer holds the job: its lease ran out and the job was given back, an operator ended it, or
// the job is gone. What the worker did must not count.
var ErrLeaseLost = errors.New("the lease is lost")

// ErrCancelAsked says that the job of a lease was asked to stop. The worker should let go of it; what it completes all the same
// counts as completed.
var ErrCancelAsked = errors.New("the job was asked to stop")

// Leases hands jobs of external kinds to workers that are no Go handlers, under the contract that handlers have: at least once,
// attempts, backoff, discard, snooze, cancel, and the kind's timeout, which is the lease.
//
// Where a worker neither settles nor extends its lease in time, the job is given back as it is from a process that died: the
// attempt is spent, and the next Claim of the kind may have the job at once.
type Leases interface {
	// Claim takes jobs of the kinds that may run now, the longest waiting first, and holds each for the lease. No two workers hold one job. It does not
	// wait where there are none.
	Claim(ctx context.Context, claim Claim) ([]Leased, error)

	// Extend holds the job for a lease from now on. ErrLeaseLost, ErrCancelAsked.
	Extend(ctx context.Context, id LeaseID, lease time.Duration) (until time.Time, err error)

	// Complete ends the job well. result is a JSON value for Job.Result, or nil. Saying it again under the same lease is fine.
	// ErrLeaseLost.
	Complete(ctx context.Context, id LeaseID, result json.RawMessage) error

	// Fail ends the attempt and answers where the job stands then. ErrLeaseLost.
	Fail(ctx context.Context, id LeaseID, failure Failure) (State, error)
}

// LeaseID names one lease of one job. It is opaque.
type LeaseID string

// Claim asks for jobs.
type Claim struct {
	// Kinds are those that the worker serves, at least one.
	Kinds []string
	// Worker is the worker's name, shown as the job's Instance. At most 120 bytes.
	Worker string
	// Most is how many jobs to take, 1 to 100. Defaults to 1.
	Most int
	// Lease is how long the worker holds each without a word. Defaults to the kind's Timeout. 1 s to 24 h.
	Lease time.Duration
}

// Leased is a job in a worker's hands.
type Leased struct {
	Lease       LeaseID
	Until       time.Time // when the lease ends
	Job         JobID
	Kind        string
	Args        json.RawMessage
	Owner       string
	Trace       string
	Attempt     int
	MaxAttempts int
}

// Failure says how an attempt ended that did not complete.
type Failure struct {
	// Error is kept with the attempt. A Snooze needs none.
	Error string
	// How defaults to Retry.
	How FailHow
	// Wait is the time until the next attempt. Defaults to the kind's backoff; a Snooze must say it.
	Wait *time.Duration
}

// FailHow is what becomes of a job whose attempt did not complete.
type FailHow string

// The ways are those of a Go handler: an error, Discard and Snooze.
const (
	FailRetry   FailHow = "retry"
	FailDiscard FailHow = "discard"
	FailSnooze  FailHow = "snooze"
)

// Check reports why the claim cannot be made.
func (c Claim) Check() error {
	if len(c.Kinds) == 0 {
		return fmt.Errorf("%w: a claim names no kinds: say which the worker serves", ErrInvalid)
	}
	for _, kind := range c.Kinds {
		if err := CheckName("kind", kind); err != nil {
			return err
		}
	}
	if c.Worker == "" || len(c.Worker) > MaxWorkerBytes {
		return fmt.Errorf("%w: the worker's name has %d bytes; use 1 to %d", ErrInvalid, len(c.Worker), MaxWorkerBytes)
	}
	if c.Most < 0 || c.Most > MaxClaim {
		return fmt.Errorf("%w: a claim of %d jobs; use 1 to %d", ErrInvalid, c.Most, MaxClaim)
	}
	if c.Lease == 0 {
		return nil
	}
	return CheckLease(c.Lease)
}

// CheckLease reports why a lease cannot be so long.
func CheckLease(lease time.Duration) error {
	if lease < MinLease || lease > MaxLease {
		return fmt.Errorf("%w: a lease of %s; use %s to %s", ErrInvalid, lease, MinLease, MaxLease)
	}
	return nil
}

// Check reports why the failure cannot be recorded.
func (f Failure) Check() error {
	switch f.How {
	case FailSnooze:
		if f.Wait == nil {
			return fmt.Errorf("%w: a snooze must say for how long", ErrInvalid)
		}
	case "", FailRetry, FailDiscard:
		if f.Error == "" {
			return fmt.Errorf("%w: a failure must say its error", ErrInvalid)
		}
	default:
		return fmt.Errorf("%w: a failure %q; use %q, %q or %q", ErrInvalid, f.How, FailRetry, FailDiscard, FailSnooze)
	}
	if f.Wait != nil && (*f.Wait < 0 || *f.Wait > maxWait) {
		return fmt.Errorf("%w: a wait of %s; use 0 to %s", ErrInvalid, *f.Wait, maxWait)
	}
	return nil
}

const maxWait = 10 * 365 * 24 * time.Hour
