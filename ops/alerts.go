package ops

import (
	"context"
	"time"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/bulk"
)

// maxAcknowledge is how much one call of alerts.acknowledge takes note of.
const maxAcknowledge = 1000

// Alert is something that a person should see to. It stands as long as its cause does.
type Alert struct {
	Name    string   `json:"name"`
	Count   int64    `json:"count" doc:"How many things it is about; counting stops at a cap"`
	Message string   `json:"message" doc:"What is the matter" maxLength:"1048576"`
	WayOut  string   `json:"way_out" doc:"What ends it"`
	About   []string `json:"about,omitempty" doc:"What it is about: kinds, or ids of endpoints"`
	// RaisedAt is of the first of what it is about.
	RaisedAt *time.Time `json:"raised_at,omitempty" doc:"When somebody was told of it; left out where it is younger than the last look"`
}

// Acknowledgement says of what to take note.
type Acknowledgement struct {
	Name       string   `json:"name" doc:"The alert: one of things that have failed for good" enum:"jobs_discarded,webhook_deliveries_discarded"`
	Kinds      []string `json:"kinds,omitempty" doc:"For jobs_discarded: only these kinds" maxItems:"100"`
	OwnerID    string   `json:"owner_id,omitempty" doc:"For jobs_discarded: only this owner's"`
	EndpointID string   `json:"endpoint_id,omitempty" doc:"For webhook_deliveries_discarded: the endpoint, which may be deleted" maxLength:"40"`
	Limit      int      `json:"limit,omitempty" doc:"How many one call takes note of at most, 1 to 1,000; 1,000 when left out" minimum:"0" maximum:"1000"`
}

// AuditOwner makes it a line of the owner's, where it is about one.
func (c acknowledged) AuditOwner() string { return c.owner }

// acknowledged is what alerts.acknowledge answers.
type acknowledged struct {
	Changed
	owner string
}

func declareAlerts(r *Registry) error {
	return firstError(
		add(r, Op[Paging, Listed[Alert]]{
			Name: "alerts.list", Summary: "List what a person should see to now", Access: Read, Global: true,
			Run: listAlerts,
		}),
		add(r, Op[Paging, Listed[AlertRecord]]{
			Name: "alerts.history", Summary: "List the alerts that were told of, the last raised first", Access: Read, Global: true,
			Run: listAlertHistory,
		}),
		add(r, Op[Acknowledgement, acknowledged]{
			Name: "alerts.acknowledge", Summary: "Take note of what failed for good, so that its alert ends; the things stay", Access: Act,
			Global: true, Idempotent: true, Run: acknowledge,
		}),
	)
}

func acknowledge(ctx context.Context, c *Call, in Acknowledgement) (acknowledged, error) {
	if in.Limit == 0 {
		in.Limit = maxAcknowledge
	}
	if in.Name == events.AlertDiscarded {
		if in.EndpointID != "" {
			return acknowledged{}, fault("endpoint_id", "it does not go with %s: leave it out", in.Name)
		}
		changed, err := acknowledgeJobs(ctx, c, in)
		return acknowledged{Changed: changed, owner: in.OwnerID}, err
	}
	changed, err := acknowledgeDeliveries(ctx, c, in)
	return acknowledged{Changed: changed}, err
}

// acknowledgeJobs takes note of jobs, the newest first.
func acknowledgeJobs(ctx context.Context, c *Call, in Acknowledgement) (Changed, error) {
	acknowledge := many{verb: bulk.Acknowledge, act: jobs.Inspector.AcknowledgeMany}
	return acknowledge.change(ctx, c, jobs.Filter{Kinds: in.Kinds, Owner: in.OwnerID, Unacked: true, Limit: in.Limit})
}

func acknowledgeDeliveries(ctx context.Context, c *Call, in Acknowledgement) (Changed, error) {
	switch {
	case in.EndpointID == "":
		return Changed{}, fault("endpoint_id", "%s needs it: deliveries are acknowledged endpoint by endpoint", in.Name)
	case len(in.Kinds) > 0 || in.OwnerID != "":
		return Changed{}, fault("kinds", "kinds and owner_id do not go with %s: leave them out", in.Name)
	case c.Webhooks == nil:
		return Changed{}, newError(Conflict, "this process has no webhooks: ask one that has")
	}
	n, err := c.Webhooks.With(c.Tx).AcknowledgeAll(ctx, in.EndpointID, in.Limit)
	return Changed{Changed: n, More: n == in.Limit}, err
}
