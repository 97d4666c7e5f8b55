package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/postbus/postbus/events"
)

// Replay is a replay as it stands.
type Replay struct {
	ID         string          `json:"id"`
	Target     string          `json:"target" enum:"subscription,endpoint"`
	Name       string          `json:"name" doc:"The subscription's name, or the endpoint's id"`
	OwnerID    string          `json:"owner_id,omitempty" doc:"Whose events; left out for all owners'"`
	Types      []string        `json:"types" doc:"Globs; none is all that the target wants"`
	Since      *time.Time      `json:"since,omitempty"`
	Until      time.Time       `json:"until"`
	Options    json.RawMessage `json:"options" doc:"missed_only of a subscription's, mode of an endpoint's"`
	State      string          `json:"state" enum:"running,done,failed,cancelled"`
	Matched    int64           `json:"matched" doc:"Events that the target took"`
	Queued     int64           `json:"queued" doc:"Jobs or deliveries that were made"`
	Progress   float64         `json:"progress" doc:"The part of the way that is behind it, 0 to 1"`
	Error      string          `json:"error,omitempty"`
	JobID      string          `json:"job_id,omitempty" doc:"The job that walks"`
	CreatedAt  time.Time       `json:"created_at"`
	UpdatedAt  time.Time       `json:"updated_at"`
	FinishedAt *time.Time      `json:"finished_at,omitempty"`
}

// AuditOwner makes an act on the replay a line of its owner's.
func (r Replay) AuditOwner() string { return r.OwnerID }

// ReplayID names one replay.
type ReplayID struct {
	ID string `json:"id" doc:"The replay's id" minLength:"1" maxLength:"40"`
}

// ReplaySpec starts a replay to a subscription.
type ReplaySpec struct {
	Name       string   `json:"name" doc:"The subscription" minLength:"1" maxLength:"120"`
	OwnerID    string   `json:"owner_id,omitempty" doc:"Only this owner's events"`
	Types      []string `json:"types,omitempty" doc:"Globs; all that the subscription wants when left out" maxItems:"100"`
	MissedOnly bool     `json:"missed_only,omitempty" doc:"Leave out events for which it had a job"`
	Window
}

// ReplayFilter selects replays.
type ReplayFilter struct {
	Target  string `json:"target,omitempty" enum:"subscription,endpoint"`
	Name    string `json:"name,omitempty" doc:"The subscription's name, or the endpoint's id"`
	State   string `json:"state,omitempty" enum:"running,done,failed,cancelled"`
	OwnerID string `json:"owner_id,omitempty"`
	Paging
}

func declareReplays(r *Registry) error {
	return firstError(
		add(r, Op[ReplaySpec, Replay]{
			Name: "events.replay", Summary: "Hand past events to a subscription, in the background", Access: Act, Run: startReplay,
		}),
		add(r, Op[ReplayFilter, Listed[Replay]]{
			Name: "events.replays", Summary: "List replays, newest first", Access: Read, Run: listReplays,
		}),
		add(r, Op[ReplayID, Replay]{
			Name: "events.get_replay", Summary: "Show how far a replay is", Access: Read,
			Run: func(ctx context.Context, c *Call, in ReplayID) (Replay, error) {
				replay, err := c.replay(ctx, in.ID)
				return replayOf(replay), err
			},
		}),
		add(r, Op[ReplayID, Replay]{
			Name: "events.cancel_replay", Summary: "End a replay; what it has handed over stays", Access: Act, Destructive: true, Idempotent: true,
			Preview: previewCancelReplay,
			Run: func(ctx context.Context, c *Call, in ReplayID) (Replay, error) {
				if _, err := c.replay(ctx, in.ID); err != nil {
					return Replay{}, err
				}
				replay, err := c.Events.CancelReplay(ctx, c.Tx, in.ID)
				return replayOf(replay), err
			},
		}),
	)
}

func startReplay(ctx context.Context, c *Call, in ReplaySpec) (Replay, error) {
	owner, err := c.OwnerOr(in.OwnerID)
	if err != nil {
		return Replay{}, err
	}
	options, err := json.Marshal(events.SubscriptionReplayOptions{MissedOnly: in.MissedOnly})
	if err != nil {
		return Replay{}, err
	}
	replay, err := c.Events.StartReplay(ctx, c.Tx, events.ReplaySpec{
		Target: events.ReplaySubscription, Name: in.Name, OwnerID: owner, Types: in.Types, Since: at(in.Since), Until: at(in.Until),
		Options: options,
	})
	return replayOf(replay), err
}

func listReplays(ctx context.Context, c *Call, in ReplayFilter) (Listed[Replay], error) {
	owner, err := c.OwnerOr(in.OwnerID)
	if err != nil {
		return Listed[Replay]{}, err
	}
	page, err := c.Events.Replays(ctx, events.ReplayFilter{
		Target: events.ReplayKind(in.Target), Name: in.Name, OwnerID: owner, State: events.ReplayState(in.State),
		Cursor: in.Cursor, Limit: in.Limit,
	})
	return listed(page.Replays, page.Next, replayOf), err
}

// replay answers a replay that the caller may see.
func (c *Call) replay(ctx context.Context, id string) (events.Replay, error) {
	replay, err := c.Events.Replay(ctx, id)
	if err != nil {
		return events.Replay{}, hidden(err, "replay", id)
	}
	if err := c.Mine(replay.OwnerID, "replay", id); err != nil {
		return events.Replay{}, err
	}
	return replay, nil
}

func previewCancelReplay(ctx context.Context, c *Call, in ReplayID) (Preview, error) {
	replay, err := c.replay(ctx, in.ID)
	if err != nil {
		return Preview{}, err
	}
	if replay.State != events.ReplayRunning && replay.State != events.ReplayFailed {
		return Preview{Would: fmt.Sprintf("do nothing: the replay is %s already", replay.State)}, nil
	}
	return Preview{Count: 1, Would: fmt.Sprintf("end the replay to %s %q at %.0f %% of its way; the %d that it has made stay",
		replay.Target, replay.Name, 100*replay.Progress, replay.Queued)}, nil
}

func replayOf(r events.Replay) Replay {
	out := Replay{
		ID: r.ID, Target: string(r.Target), Name: r.Name, OwnerID: r.OwnerID, Types: r.Types, Until: r.Until, Options: r.Options,
		State: string(r.State), Matched: r.Matched, Queued: r.Queued, Progress: r.Progress, Error: r.Error, JobID: string(r.JobID),
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, FinishedAt: r.FinishedAt,
	}
	if !r.Since.IsZero() {
		out.Since = &r.Since
	}
	if out.Types == nil {
		out.Types = []string{}
	}
	return out
}
