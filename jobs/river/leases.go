package river

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/jobs"
)

// leases is the Go side of the functions in leases.sql, which SQL workers reach by postbus.claim_work and its kin.
type leases struct{ store store }

var _ jobs.Leases = (*leases)(nil)

// SQLSTATEs of leases.sql.
const (
	stateLeaseLost   = "PB001"
	stateCancelAsked = "PB002"
	stateBadInput    = "22023"
)

// leased is a job as postbus.lease_jobs answers it.
type leased struct {
	Lease       jobs.LeaseID    `json:"lease"`
	Until       time.Time       `json:"until"`
	Job         jobs.JobID      `json:"job"`
	Kind        string          `json:"kind"`
	Args        json.RawMessage `json:"args"`
	Owner       string          `json:"owner"`
	Trace       string          `json:"trace"`
	Attempt     int             `json:"attempt"`
	MaxAttempts int             `json:"max_attempts"`
}

func (l *leases) Claim(ctx context.Context, claim jobs.Claim) ([]jobs.Leased, error) {
	if err := claim.Check(); err != nil {
		return nil, err
	}
	params := riversql.LeaseJobsParams{Kinds: claim.Kinds, Worker: claim.Worker, Most: int32(max(claim.Most, 1))}
	if claim.Lease > 0 {
		us := claim.Lease.Microseconds()
		params.LeaseUs = &us
	}
	rows, err := ask(ctx, l.store, (*riversql.Queries).LeaseJobs, params)
	if err != nil {
		return nil, fmt.Errorf("claim jobs: %w", err)
	}
	claimed := make([]jobs.Leased, len(rows))
	for i, row := range rows {
		var job leased
		if err := json.Unmarshal([]byte(row), &job); err != nil {
			return nil, fmt.Errorf("read a claimed job: %w", err)
		}
		job.Until = job.Until.UTC()
		claimed[i] = jobs.Leased(job)
	}
	return claimed, nil
}

func (l *leases) Extend(ctx context.Context, id jobs.LeaseID, lease time.Duration) (time.Time, error) {
	if err := jobs.CheckLease(lease); err != nil {
		return time.Time{}, err
	}
	params := riversql.ExtendLeaseParams{Lease: string(id), WantedUs: lease.Microseconds()}
	until, err := ask(ctx, l.store, (*riversql.Queries).ExtendLease, params)
	if err != nil {
		return time.Time{}, leaseError("extend", err)
	}
	return until.UTC(), nil
}

func (l *leases) Complete(ctx context.Context, id jobs.LeaseID, result json.RawMessage) error {
	if err := jobs.CheckResult(result); err != nil {
		return err
	}
	params := riversql.SettleLeaseParams{Lease: string(id), Verdict: completed}
	if len(result) > 0 {
		text := string(result)
		params.Result = &text
	}
	_, err := ask(ctx, l.store, (*riversql.Queries).SettleLease, params)
	return leaseError("complete", err)
}

func (l *leases) Fail(ctx context.Context, id jobs.LeaseID, failure jobs.Failure) (jobs.State, error) {
	if err := failure.Check(); err != nil {
		return "", err
	}
	params := riversql.SettleLeaseParams{Lease: string(id), Verdict: failed, Error: storable(failure.Error, maxErrorBytes)}
	switch failure.How {
	case jobs.FailDiscard:
		params.Verdict = discarded
	case jobs.FailSnooze:
		params.Verdict = snoozing
	}
	if failure.Wait != nil {
		us := failure.Wait.Microseconds()
		params.WaitUs = &us
	}
	state, err := ask(ctx, l.store, (*riversql.Queries).SettleLease, params)
	return jobs.State(state), leaseError("fail", err)
}

// leaseError puts what the functions refuse into the port's words.
func leaseError(act string, err error) error {
	var refused *pgconn.PgError
	if err == nil || !errors.As(err, &refused) {
		return err
	}
	switch refused.Code {
	case stateLeaseLost:
		return fmt.Errorf("%s: %w: %s", act, jobs.ErrLeaseLost, refused.Message)
	case stateCancelAsked:
		return fmt.Errorf("%s: %w: %s", act, jobs.ErrCancelAsked, refused.Message)
	case stateBadInput:
		return fmt.Errorf("%s: %w: %s", act, jobs.ErrInvalid, refused.Message)
	}
	return fmt.Errorf("%s a lease: %w", act, err)
}

// endedLease is a job whose lease ended unsettled.
type endedLease struct {
	ID      int64  `json:"id"`
	Kind    string `json:"kind"`
	State   string `json:"state"`
	Attempt int    `json:"attempt"`
}

func endLeases(ctx context.Context, s store) ([]endedLease, error) {
	rows, err := ask(ctx, s, func(q *riversql.Queries, ctx context.Context, _ struct{}) ([]string, error) { return q.EndLeases(ctx) }, struct{}{})
	ended := make([]endedLease, len(rows))
	for i, row := range rows {
		err = errors.Join(err, json.Unmarshal([]byte(row), &ended[i]))
	}
	return ended, err
}
