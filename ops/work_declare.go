package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/work"
)

// WorkDeclaration declares an external kind, or with types a subscription.
type WorkDeclaration struct {
	Name         string    `json:"name" doc:"Words of a-z and 0-9 with one of . _ - between them" minLength:"1" maxLength:"59"`
	Types        []string  `json:"types,omitempty" doc:"Globs of a subscription: each event that matches makes a job" maxItems:"100"`
	Coalesce     bool      `json:"coalesce,omitempty" doc:"One job for the events of one pass about one subject, for the latest of them"`
	MaxAttempts  int       `json:"max_attempts,omitempty" doc:"8 when left out" minimum:"0" maximum:"1000"`
	LeaseSeconds float64   `json:"lease_seconds,omitempty" doc:"How long a claim that says nothing holds a job; 60 when left out" minimum:"0" maximum:"86400"`
	WaitSeconds  []float64 `json:"wait_seconds,omitempty" doc:"The waits after each failed attempt, the last for all that follow; 2 s doubling to 10 min when left out" maxItems:"1000"`
	Description  string    `json:"description,omitempty"`
}

// WorkKind is an external kind.
type WorkKind struct {
	WorkDeclaration
	App     string    `json:"app,omitempty" doc:"The application that declares it; left out for one that belongs to nobody"`
	SeenAt  time.Time `json:"seen_at" doc:"When it was declared last, or its application was seen"`
	Workers int       `json:"workers" doc:"How many workers claimed it in the last five minutes"`
}

// WorkWorker is a worker.
type WorkWorker struct {
	Name   string    `json:"name"`
	Kinds  []string  `json:"kinds"`
	SeenAt time.Time `json:"seen_at" doc:"When it claimed last, to ten seconds"`
}

// WorkName names an external kind.
type WorkName struct {
	Name string `json:"name" doc:"The kind's, or subscription's, name" minLength:"1" maxLength:"120"`
}

// WorkEnqueue makes a job.
type WorkEnqueue struct {
	Kind    string     `json:"kind" doc:"A declared kind, external or not" minLength:"1" maxLength:"120"`
	Args    object     `json:"args,omitempty" doc:"A JSON object; {} when left out"`
	RunAt   *time.Time `json:"run_at,omitempty" doc:"Not before this moment, RFC 3339"`
	OwnerID string     `json:"owner_id,omitempty" doc:"For whom; left out by a caller who is bound to an owner, else postbus"`
}

// WorkEnqueued is the event of a job that will be made.
type WorkEnqueued struct {
	EventID string `json:"event_id" doc:"events.get shows the job that it makes"`

	owner string
}

// AuditOwner makes the act a line of the owner's.
func (e WorkEnqueued) AuditOwner() string { return e.owner }

func declareWork(r *Registry) error {
	return firstError(
		add(r, Op[Paging, Listed[WorkKind]]{
			Name: "work.kinds", Summary: "List the kinds and subscriptions that workers outside of Go serve", Access: Read, Global: true, Run: listWorkKinds,
		}),
		add(r, Op[Paging, Listed[WorkWorker]]{
			Name: "work.workers", Summary: "List the workers that claimed within the last day", Access: Read, Global: true, Run: listWorkers,
		}),
		add(r, Op[WorkDeclaration, Done]{
			Name: "work.declare", Summary: "Declare or change a kind, or with types a subscription, that workers serve", Access: Act, Global: true, Idempotent: true,
			Run: func(ctx context.Context, c *Call, in WorkDeclaration) (Done, error) {
				err := c.Work.With(c.Tx).Declare(ctx, in.declaration())
				return Done{Done: err == nil}, err
			},
		}),
		add(r, Op[WorkName, Done]{
			Name: "work.retire", Summary: "Take back what was declared; jobs that are there stay", Access: Act, Global: true, Destructive: true,
			Preview: previewRetire,
			Run: func(ctx context.Context, c *Call, in WorkName) (Done, error) {
				err := c.Work.With(c.Tx).Retire(ctx, in.Name)
				return Done{Done: err == nil}, err
			},
		}),
		add(r, Op[WorkEnqueue, WorkEnqueued]{
			Name: "work.enqueue", Summary: "Make a job of a declared kind through the outbox", Access: Act, Run: enqueueWork,
		}),
	)
}

func (d WorkDeclaration) declaration() work.Declaration {
	out := work.Declaration{
		Name: d.Name, Types: d.Types, Coalesce: d.Coalesce, MaxAttempts: d.MaxAttempts, Lease: span(d.LeaseSeconds), Description: d.Description,
	}
	for _, wait := range d.WaitSeconds {
		out.Waits = append(out.Waits, span(wait))
	}
	return out
}

func listWorkKinds(ctx context.Context, c *Call, in Paging) (Listed[WorkKind], error) {
	after, err := openCursor("work_kind", in.Cursor)
	if err != nil {
		return Listed[WorkKind]{}, err
	}
	kinds, err := c.Work.Kinds(ctx, after, pageSize(in)+1)
	if err != nil {
		return Listed[WorkKind]{}, err
	}
	return pageOf(kinds, "work_kind", in, func(k work.External) string { return k.Name }, workKindOf), nil
}

func workKindOf(k work.External) WorkKind {
	out := WorkKind{App: k.App, SeenAt: k.SeenAt, Workers: k.Workers, WorkDeclaration: WorkDeclaration{
		Name: k.Name, Types: k.Types, Coalesce: k.Coalesce, MaxAttempts: k.MaxAttempts, LeaseSeconds: k.Lease.Seconds(), Description: k.Description,
	}}
	for _, wait := range k.Waits {
		out.WaitSeconds = append(out.WaitSeconds, wait.Seconds())
	}
	return out
}

func listWorkers(ctx context.Context, c *Call, in Paging) (Listed[WorkWorker], error) {
	after, err := openCursor("worker", in.Cursor)
	if err != nil {
		return Listed[WorkWorker]{}, err
	}
	workers, err := c.Work.Workers(ctx, after, pageSize(in)+1)
	if err != nil {
		return Listed[WorkWorker]{}, err
	}
	return pageOf(workers, "worker", in, func(w work.Worker) string { return w.Name }, func(w work.Worker) WorkWorker {
		return WorkWorker{Name: w.Name, Kinds: w.Kinds, SeenAt: w.SeenAt}
	}), nil
}

func previewRetire(ctx context.Context, c *Call, in WorkName) (Preview, error) {
	count, err := c.tasks().Count(ctx, jobs.Filter{
		Kinds: []string{in.Name}, States: []jobs.State{jobs.Pending, jobs.Running, jobs.Retryable},
	})
	would := fmt.Sprintf("retire %s: no more jobs of it are made and none can be claimed; those that have not ended stay", in.Name)
	return Preview{Would: would, Count: count.N, About: count.About}, err
}

func enqueueWork(ctx context.Context, c *Call, in WorkEnqueue) (WorkEnqueued, error) {
	owner, err := c.OwnerOr(in.OwnerID)
	if err != nil {
		return WorkEnqueued{}, err
	}
	if owner == "" {
		owner = "postbus"
	}
	id, err := c.Work.With(c.Tx).Enqueue(ctx, in.Kind, json.RawMessage(in.Args), at(in.RunAt), owner)
	return WorkEnqueued{EventID: id, owner: owner}, err
}
