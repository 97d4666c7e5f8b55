package ops

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/dbsqlc/opssql"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/webhooks"
)

// levelCap is how many things a level of an event's tree shows.
const levelCap = 200

// EventTree is an event with all that was made of it. A level shows at most 200 things and says where there are more.
type EventTree struct {
	Event
	Data   json.RawMessage `json:"data" doc:"The data as it was recorded, any JSON"`
	Fanout []Branch        `json:"fanout" doc:"What each subscription got"`
	More   bool            `json:"more,omitempty" doc:"There are more subscriptions than are shown"`
}

// Branch is what one subscription got of an event.
type Branch struct {
	Subscription string   `json:"subscription"`
	Job          *TreeJob `json:"job,omitempty" doc:"Left out where the fan-out made none, and deliveries come from a test or a replay"`
	// Deliveries are those of webhook.fanout.
	Deliveries []TreeDelivery `json:"deliveries,omitempty" doc:"One for each endpoint, newest first; of webhook.fanout"`
	More       bool           `json:"more,omitempty" doc:"There are more deliveries than are shown: see webhooks.deliveries"`
}

// TreeJob is the job of a subscription.
type TreeJob struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	State   string `json:"state" enum:"pending,running,retryable,completed,discarded,cancelled,gone" doc:"gone: it ended and was pruned"`
	Attempt int    `json:"attempt"`
	Errors  int    `json:"errors" doc:"How many of its attempts failed: see tasks.get"`
}

// TreeDelivery is a delivery of the event.
type TreeDelivery struct {
	ID         string        `json:"id"`
	EndpointID string        `json:"endpoint_id"`
	Origin     string        `json:"origin" enum:"fanout,replay,test"`
	State      string        `json:"state" enum:"pending,delivered,discarded,skipped"`
	Reason     string        `json:"reason,omitempty"`
	Attempts   []TreeAttempt `json:"attempts" doc:"Newest first"`
	More       bool          `json:"more,omitempty" doc:"There are more attempts than are shown: see webhooks.attempts"`
}

// TreeAttempt is one request of a delivery.
type TreeAttempt struct {
	N      int       `json:"n"`
	Status int       `json:"status,omitempty" doc:"The HTTP status; left out where there was no answer"`
	Error  string    `json:"error,omitempty"`
	At     time.Time `json:"at"`
}

func getEvent(ctx context.Context, c *Call, in EventID) (EventTree, error) {
	event, err := c.event(ctx, in.ID)
	if err != nil {
		return EventTree{}, err
	}
	tree := EventTree{Event: eventOf(event), Data: event.Data}
	if tree.Fanout, tree.More, err = c.branches(ctx, event); err != nil {
		return EventTree{}, err
	}
	return tree, c.addDeliveries(ctx, &tree)
}

// branches are the event's subscriptions by name, each with its job.
func (c *Call) branches(ctx context.Context, event events.Detail) ([]Branch, bool, error) {
	names := slices.Sorted(maps.Keys(event.Fanout))
	more := len(names) > levelCap
	names = names[:min(len(names), levelCap)]
	branches := make([]Branch, len(names))
	if len(names) == 0 {
		return branches, false, nil
	}
	ids := make([]jobs.JobID, len(names))
	for i, name := range names {
		ids[i] = event.Fanout[name]
	}
	page, err := c.tasks().List(ctx, jobs.Filter{IDs: ids, Limit: levelCap})
	if err != nil {
		return nil, false, err
	}
	there := map[jobs.JobID]jobs.Job{}
	for _, job := range page.Jobs {
		there[job.ID] = job
	}
	for i, name := range names {
		branches[i] = Branch{Subscription: name, Job: &TreeJob{ID: string(ids[i]), Kind: name, State: "gone"}}
		if job, ok := there[ids[i]]; ok {
			*branches[i].Job = TreeJob{
				ID: string(job.ID), Kind: job.Kind, State: string(job.State), Attempt: job.Attempt, Errors: len(job.Errors),
			}
		}
	}
	return branches, more, nil
}

// addDeliveries hangs the event's deliveries below webhook.fanout.
func (c *Call) addDeliveries(ctx context.Context, tree *EventTree) error {
	if c.Webhooks == nil {
		return nil
	}
	page, err := c.Webhooks.Deliveries(ctx, webhooks.DeliveryFilter{EventID: tree.ID, OwnerID: tree.OwnerID, Limit: levelCap})
	if err != nil || len(page.Deliveries) == 0 {
		return err
	}
	attempts, err := c.newestAttempts(ctx, page.Deliveries)
	if err != nil {
		return err
	}
	deliveries := make([]TreeDelivery, len(page.Deliveries))
	for i, d := range page.Deliveries {
		deliveries[i] = TreeDelivery{
			ID: d.ID, EndpointID: d.EndpointID, Origin: string(d.Origin), State: string(d.State), Reason: d.Reason,
			Attempts: attempts[d.ID], More: d.Tries > len(attempts[d.ID]),
		}
		if deliveries[i].Attempts == nil {
			deliveries[i].Attempts = []TreeAttempt{}
		}
	}
	at := slices.IndexFunc(tree.Fanout, func(b Branch) bool { return b.Subscription == webhooks.Fanout })
	if at < 0 {
		at, tree.Fanout = len(tree.Fanout), append(tree.Fanout, Branch{Subscription: webhooks.Fanout})
	}
	tree.Fanout[at].Deliveries, tree.Fanout[at].More = deliveries, page.Next != ""
	return nil
}

// newestAttempts shares the level's places among the deliveries.
func (c *Call) newestAttempts(ctx context.Context, of []webhooks.Delivery) (map[string][]TreeAttempt, error) {
	params := opssql.NewestAttemptsParams{MostEach: int32(max(levelCap/len(of), 1))}
	for _, d := range of {
		id, err := strconv.ParseInt(d.ID, 10, 64)
		if err != nil {
			return nil, err
		}
		params.DeliveryIds = append(params.DeliveryIds, id)
	}
	rows, err := queries(c.Pool).NewestAttempts(ctx, params)
	attempts := map[string][]TreeAttempt{}
	for _, row := range rows {
		a := TreeAttempt{N: int(row.N), At: row.AttemptedAt.UTC()}
		if row.Status != nil {
			a.Status = int(*row.Status)
		}
		if row.Error != nil {
			a.Error = *row.Error
		}
		id := strconv.FormatInt(row.DeliveryID, 10)
		attempts[id] = append(attempts[id], a)
	}
	return attempts, err
}
