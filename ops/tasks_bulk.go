package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/postbus/postbus/jobs/bulk"
)

// BulkAct is an act on any number of jobs as it stands.
type BulkAct struct {
	ID         string     `json:"id"`
	Act        string     `json:"act" enum:"retry,cancel,acknowledge"`
	Filter     TaskFilter `json:"filter" doc:"The jobs that it is about, of those made before it was asked for"`
	OwnerID    string     `json:"owner_id,omitempty" doc:"Whose jobs; left out for all owners'"`
	Who        string     `json:"who,omitempty" doc:"Who asked for it"`
	State      string     `json:"state" enum:"pending,running,done,cancelled,failed"`
	Matched    int64      `json:"matched" doc:"How many jobs matched: when it was asked for, up to 10,000; once it has begun, when it began, up to 1,000,000"`
	About      bool       `json:"about,omitempty" doc:"More than matched matched: counting stopped there"`
	Seen       int64      `json:"seen" doc:"How many jobs it has come by"`
	Changed    int64      `json:"changed" doc:"How many of those it has changed; the others had changed meanwhile, or could not be"`
	Progress   float64    `json:"progress" doc:"The part of the way that is behind it, 0 to 1"`
	Error      string     `json:"error,omitempty" doc:"Why it failed, or its last setback while it runs" maxLength:"8000"`
	JobID      string     `json:"job_id,omitempty" doc:"The job that does it; retrying that job makes a failed act go on"`
	CreatedAt  time.Time  `json:"created_at"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	UpdatedAt  time.Time  `json:"updated_at"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
}

// AuditOwner makes an act on the jobs of one owner a line of that owner's.
func (a BulkAct) AuditOwner() string { return a.OwnerID }

// BulkActID names one act.
type BulkActID struct {
	ID string `json:"id" doc:"The act's id" minLength:"1" maxLength:"40"`
}

// BulkActFilter selects acts.
type BulkActFilter struct {
	Act     string `json:"act,omitempty" enum:"retry,cancel,acknowledge"`
	State   string `json:"state,omitempty" enum:"pending,running,done,cancelled,failed"`
	OwnerID string `json:"owner_id,omitempty" doc:"Acts on this owner's jobs only"`
	Paging
}

func declareTaskBulk(r *Registry) error {
	return firstError(
		add(r, all(bulk.Retry, "tasks.retry_all", "Run all jobs that match again, however many, in the background; "+
			"where no states are given, those that are retryable or discarded")),
		add(r, all(bulk.Cancel, "tasks.cancel_all", "Cancel all jobs that match and have not ended well, however many, in the background")),
		add(r, all(bulk.Acknowledge, "tasks.acknowledge_all", "Take note of all discarded jobs that match, however many, in the background")),
		add(r, Op[BulkActFilter, Listed[BulkAct]]{
			Name: "tasks.bulk_acts", Summary: "List acts in the background on many jobs, newest first", Access: Read, Run: listBulkActs,
		}),
		add(r, Op[BulkActID, BulkAct]{
			Name: "tasks.bulk_act", Summary: "Show how far an act on many jobs is", Access: Read,
			Run: func(ctx context.Context, c *Call, in BulkActID) (BulkAct, error) {
				act, err := c.bulkAct(ctx, in.ID)
				return bulkActOf(act), err
			},
		}),
		add(r, Op[BulkActID, BulkAct]{
			Name: "tasks.stop_bulk_act", Summary: "End an act on many jobs; what it has changed stays", Access: Act,
			Destructive: true, Idempotent: true, Preview: previewStopBulkAct,
			Run: func(ctx context.Context, c *Call, in BulkActID) (BulkAct, error) {
				if _, err := c.bulkAct(ctx, in.ID); err != nil {
					return BulkAct{}, err
				}
				act, err := c.Bulk.Stop(ctx, c.Tx, in.ID)
				return bulkActOf(act), err
			},
		}),
	)
}

// all is the operation that starts acts of the verb.
func all(verb bulk.Verb, name, summary string) Op[TaskFilter, BulkAct] {
	spec := func(c *Call, in TaskFilter) (bulk.Spec, error) {
		filter, err := in.jobs(c)
		return bulk.Spec{Verb: verb, Filter: filter, Who: c.Who.Name}, err
	}
	return Op[TaskFilter, BulkAct]{
		Name: name, Summary: summary, Access: Act, Destructive: true,
		Preview: func(ctx context.Context, c *Call, in TaskFilter) (Preview, error) {
			preview := Preview{Would: fmt.Sprintf("%s the jobs that match and are there when it is confirmed, in the background", verb)}
			spec, err := spec(c, in)
			if err != nil {
				return preview, err
			}
			count, err := c.Bulk.Count(ctx, spec)
			preview.Count, preview.About = count.N, count.About
			return preview, err
		},
		Run: func(ctx context.Context, c *Call, in TaskFilter) (BulkAct, error) {
			spec, err := spec(c, in)
			if err != nil {
				return BulkAct{}, err
			}
			act, err := c.Bulk.Start(ctx, c.Tx, spec)
			return bulkActOf(act), err
		},
	}
}

func listBulkActs(ctx context.Context, c *Call, in BulkActFilter) (Listed[BulkAct], error) {
	owner, err := c.OwnerOr(in.OwnerID)
	if err != nil {
		return Listed[BulkAct]{}, err
	}
	page, err := c.Bulk.List(ctx, bulk.Filter{
		Owner: owner, Verb: bulk.Verb(in.Act), State: bulk.State(in.State), Cursor: in.Cursor, Limit: pageSize(in.Paging),
	})
	return listed(page.Acts, page.Next, bulkActOf), err
}

// bulkAct answers an act that the caller may see.
func (c *Call) bulkAct(ctx context.Context, id string) (bulk.Act, error) {
	act, err := c.Bulk.Get(ctx, id)
	if err != nil {
		return bulk.Act{}, hidden(err, "bulk act", id)
	}
	if err := c.Mine(act.Filter.Owner, "bulk act", id); err != nil {
		return bulk.Act{}, err
	}
	return act, nil
}

func previewStopBulkAct(ctx context.Context, c *Call, in BulkActID) (Preview, error) {
	act, err := c.bulkAct(ctx, in.ID)
	if err != nil {
		return Preview{}, err
	}
	if !act.Open() && act.State != bulk.Failed {
		return Preview{Would: fmt.Sprintf("do nothing: the act is %s already", act.State)}, nil
	}
	return Preview{Count: 1, Would: fmt.Sprintf("end the %s at %.0f %% of its way; the %d jobs that it has changed stay so",
		act.Verb, 100*act.Progress, act.Changed)}, nil
}

func bulkActOf(a bulk.Act) BulkAct {
	f := a.Filter
	out := BulkAct{
		ID: a.ID, Act: string(a.Verb), OwnerID: f.Owner, Who: a.Who, State: string(a.State), Matched: a.Matched.N, About: a.Matched.About,
		Seen: a.Seen, Changed: a.Changed, Progress: a.Progress, Error: a.Error, JobID: string(a.JobID),
		CreatedAt: a.CreatedAt, StartedAt: a.StartedAt, UpdatedAt: a.UpdatedAt, FinishedAt: a.FinishedAt,
		Filter: TaskFilter{Kinds: f.Kinds, Queues: f.Queues, OwnerID: f.Owner, Unacknowledged: f.Unacked},
	}
	for _, id := range f.IDs {
		out.Filter.IDs = append(out.Filter.IDs, string(id))
	}
	for _, state := range f.States {
		out.Filter.States = append(out.Filter.States, string(state))
	}
	if len(f.Args) > 0 {
		_ = json.Unmarshal(f.Args, &out.Filter.Args) // an object: the inspector has taken it
	}
	if !f.After.IsZero() {
		out.Filter.Since = &f.After
	}
	if !f.Before.IsZero() {
		out.Filter.Until = &f.Before
	}
	return out
}
