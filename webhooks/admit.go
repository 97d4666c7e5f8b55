package webhooks

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
	"github.com/postbus/postbus/internal/tracing"
	"github.com/postbus/postbus/jobs"
)

// laneArgs are what a lane's job carries: the slot that it may use.
type laneArgs struct {
	EndpointID string `json:"endpoint_id"`
	Token      string `json:"token"`
	// Failing says that it runs in the queue of failing endpoints.
	Failing bool `json:"failing,omitempty"`
}

// admit opens lanes for deliveries that became due, as far as the endpoints have free slots. The caller holds the endpoints'
// rows, for key share at least, so that no lane closes unseen beside it.
func (s *Service) admit(ctx context.Context, tx pgx.Tx, due map[string]int) error {
	if len(due) == 0 {
		return nil
	}
	p := webhooksql.OpenSlotsParams{}
	for _, id := range slices.Sorted(maps.Keys(due)) {
		p.EndpointIds, p.Wanted = append(p.EndpointIds, id), append(p.Wanted, int32(due[id]))
	}
	opened, err := queries(tx).OpenSlots(ctx, p)
	if err != nil {
		return err
	}
	lanes := make([]lane, len(opened))
	for i, o := range opened {
		lanes[i] = lane{owner: o.OwnerID, args: laneArgs{EndpointID: o.EndpointID, Token: o.Token, Failing: o.Failing}}
	}
	return s.enqueueLanes(ctx, tx, lanes)
}

// lane is a slot that waits for its job.
type lane struct {
	owner string
	args  laneArgs
}

func (s *Service) enqueueLanes(ctx context.Context, tx pgx.Tx, lanes []lane) error {
	if len(lanes) == 0 {
		return nil
	}
	batch := make([]jobs.EnqueueParams, len(lanes))
	p := webhooksql.SetSlotJobsParams{}
	for i, l := range lanes {
		queue := DeliverQueue
		if l.args.Failing {
			queue = FailingQueue
		}
		batch[i] = jobs.EnqueueParams{Kind: Deliver, Args: l.args, Opts: jobs.EnqueueOpts{Owner: l.owner, Queue: queue}}
		p.Tokens = append(p.Tokens, l.args.Token)
	}
	// A lane sends the deliveries of many events: it belongs to the trace of none.
	ids, err := s.jobs.With(tx).EnqueueMany(tracing.Detach(ctx), batch)
	if err != nil {
		return err
	}
	for _, id := range ids {
		p.JobIds = append(p.JobIds, string(id))
	}
	return queries(tx).SetSlotJobs(ctx, p)
}
