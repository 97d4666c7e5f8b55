package ops

import (
	"context"
	"encoding/json"
	"time"

	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/work"
)

// WorkClaim asks for jobs of external kinds.
type WorkClaim struct {
	Kinds        []string `json:"kinds" doc:"The kinds, or subscriptions, that the worker serves" minItems:"1" maxItems:"100"`
	Worker       string   `json:"worker" doc:"The worker's name, shown with the jobs that it holds" minLength:"1" maxLength:"120"`
	Max          int      `json:"max,omitempty" doc:"How many jobs to take; 1 when left out" minimum:"0" maximum:"100"`
	LeaseSeconds float64  `json:"lease_seconds,omitempty" doc:"How long to hold each without a word; the kind's own when left out" minimum:"0" maximum:"86400"`
	WaitSeconds  float64  `json:"wait_seconds,omitempty" doc:"How long to wait where there are none" minimum:"0" maximum:"20"`
}

// WorkItems are the jobs of a claim.
type WorkItems struct {
	Items []WorkItem `json:"items" doc:"None where there is nothing to do: claim again"`
}

// WorkItem is a job in a worker's hands.
type WorkItem struct {
	ID          string          `json:"id" doc:"Names this lease of the job: give it to work.complete, work.fail and work.extend"`
	JobID       string          `json:"job_id"`
	Kind        string          `json:"kind"`
	Args        json.RawMessage `json:"args" doc:"The job's args, a JSON object"`
	Event       *WorkEvent      `json:"event,omitempty" doc:"The event that a subscription's job is about"`
	OwnerID     string          `json:"owner_id,omitempty"`
	Trace       string          `json:"trace,omitempty" doc:"The W3C traceparent to go on with"`
	Attempt     int             `json:"attempt"`
	MaxAttempts int             `json:"max_attempts"`
	LeaseUntil  time.Time       `json:"lease_until" doc:"Settle or extend before"`
}

// WorkEvent is the event of a job.
type WorkEvent struct {
	ID         string          `json:"id"`
	Type       string          `json:"type"`
	OwnerID    string          `json:"owner_id"`
	Subject    string          `json:"subject"`
	OccurredAt time.Time       `json:"occurred_at"`
	Data       json.RawMessage `json:"data" doc:"The data as it was recorded, any JSON"`
}

// WorkExtend holds a job longer.
type WorkExtend struct {
	LeaseID
	LeaseSeconds float64 `json:"lease_seconds" doc:"How long from now" minimum:"1" maximum:"86400"`
}

// LeaseID names a lease.
type LeaseID struct {
	ID string `json:"id" doc:"The id that the claim answered" minLength:"1" maxLength:"64"`
}

// WorkUntil is when a lease ends.
type WorkUntil struct {
	LeaseUntil time.Time `json:"lease_until"`
}

// WorkComplete ends a job well.
type WorkComplete struct {
	LeaseID
	Result object `json:"result,omitempty" doc:"A JSON object to keep with the job, at most 64 KiB"`
}

// WorkFail ends an attempt.
type WorkFail struct {
	LeaseID
	Error       string   `json:"error,omitempty" doc:"What failed; needed unless it snoozes" maxLength:"16384"`
	How         string   `json:"how,omitempty" doc:"retry when left out; discard ends the job, snooze spends no attempt" enum:"retry,discard,snooze"`
	WaitSeconds *float64 `json:"wait_seconds,omitempty" doc:"How long until the next attempt; the kind's own when left out, needed for snooze" minimum:"0" maximum:"315360000"`
}

// WorkState is where a job stands.
type WorkState struct {
	State string `json:"state" enum:"pending,running,retryable,completed,discarded,cancelled"`
}

func declareWorkers(r *Registry) error {
	return firstError(
		add(r, Op[WorkClaim, WorkItems]{
			Name: "work.claim", Summary: "Claim jobs of external kinds under a lease, waiting for some if asked to", Access: Work, Global: true, Unaudited: true,
			Run: claimWork,
		}),
		add(r, Op[WorkExtend, WorkUntil]{
			Name: "work.extend", Summary: "Hold a claimed job for longer", Access: Work, Global: true, Unaudited: true, Idempotent: true,
			Run: func(ctx context.Context, c *Call, in WorkExtend) (WorkUntil, error) {
				until, err := c.Work.Extend(ctx, jobs.LeaseID(in.ID), span(in.LeaseSeconds))
				return WorkUntil{LeaseUntil: until}, err
			},
		}),
		add(r, Op[WorkComplete, WorkState]{
			Name: "work.complete", Summary: "End a claimed job well", Access: Work, Global: true, Unaudited: true, Idempotent: true,
			Run: func(ctx context.Context, c *Call, in WorkComplete) (WorkState, error) {
				return WorkState{State: string(jobs.Completed)}, c.Work.Complete(ctx, jobs.LeaseID(in.ID), json.RawMessage(in.Result))
			},
		}),
		add(r, Op[WorkFail, WorkState]{
			Name: "work.fail", Summary: "End the attempt of a claimed job: try again, discard it, or come back later", Access: Work, Global: true, Unaudited: true,
			Run: func(ctx context.Context, c *Call, in WorkFail) (WorkState, error) {
				failure := jobs.Failure{Error: in.Error, How: jobs.FailHow(in.How)}
				if in.WaitSeconds != nil {
					wait := span(*in.WaitSeconds)
					failure.Wait = &wait
				}
				state, err := c.Work.Fail(ctx, jobs.LeaseID(in.ID), failure)
				return WorkState{State: string(state)}, err
			},
		}),
	)
}

func claimWork(ctx context.Context, c *Call, in WorkClaim) (WorkItems, error) {
	claim := jobs.Claim{Kinds: in.Kinds, Worker: in.Worker, Most: in.Max, Lease: span(in.LeaseSeconds)}
	items, err := c.Work.Claim(ctx, claim, span(in.WaitSeconds))
	if err != nil {
		return WorkItems{}, err
	}
	out := WorkItems{Items: make([]WorkItem, len(items))}
	for i, item := range items {
		out.Items[i] = workItemOf(item)
	}
	return out, nil
}

func workItemOf(item work.Item) WorkItem {
	out := WorkItem{
		ID: string(item.Lease), JobID: string(item.Job), Kind: item.Kind, Args: item.Args, OwnerID: item.Owner, Trace: item.Trace,
		Attempt: item.Attempt, MaxAttempts: item.MaxAttempts, LeaseUntil: item.Until,
	}
	if e := item.Event; e != nil {
		out.Event = &WorkEvent{ID: e.ID, Type: e.Type, OwnerID: e.OwnerID, Subject: e.Subject, OccurredAt: e.OccurredAt, Data: e.Data}
	}
	return out
}

func span(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
