package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/jobs"
)

// ReplayKind says what kind of target a replay hands events to.
type ReplayKind string

const (
	// ReplaySubscription replays make jobs of a subscription.
	ReplaySubscription ReplayKind = "subscription"
	// ReplayEndpoint replays make deliveries to an endpoint.
	ReplayEndpoint ReplayKind = "endpoint"
)

// ReplayState is where a replay stands.
type ReplayState string

const (
	// ReplayRunning replays have events left, or have not begun.
	ReplayRunning ReplayState = "running"
	// ReplayDone replays have handed over everything; what was made of it may still be at work.
	ReplayDone ReplayState = "done"
	// ReplayFailed replays cannot go on; retrying their job makes them try from where they were.
	ReplayFailed ReplayState = "failed"
	// ReplayCancelled replays were ended by hand; what they had handed over stays.
	ReplayCancelled ReplayState = "cancelled"
)

// ReplaySpec says which events are handed again, and to whom.
type ReplaySpec struct {
	Target ReplayKind
	// Name is the subscription's name, or the endpoint's id.
	Name string
	// OwnerID selects one owner's events; "" is all.
	OwnerID string
	// Types are globs over event types; none is all that the target wants.
	Types []string
	// Since and Until select by time: occurred at or after, and before. No Since is from the beginning, no Until is now.
	Since, Until time.Time
	// Options are a JSON object that the target reads. For a subscription see SubscriptionReplayOptions.
	Options json.RawMessage
}

// SubscriptionReplayOptions are the Options of a replay to a subscription.
type SubscriptionReplayOptions struct {
	// MissedOnly leaves out events whose fan-out gave the subscription a job: to one that is new, each event comes once.
	MissedOnly bool `json:"missed_only,omitempty"`
}

// Replay is a replay as it stands.
type Replay struct {
	ID string
	ReplaySpec
	State ReplayState
	// Matched counts the events that the target took, Queued what it made of them: jobs, or deliveries.
	Matched, Queued int64
	// Progress is the part of the way that is behind it, 0 to 1.
	Progress float64
	// Error is why it failed, or its last setback while it runs.
	Error string
	// JobID is the job that walks.
	JobID                jobs.JobID
	CreatedAt, UpdatedAt time.Time
	FinishedAt           *time.Time
}

// ReplayTarget takes the events of replays of its kind.
type ReplayTarget interface {
	Kind() ReplayKind

	// JobKind names the kind of job that walks. A process that lacks the target does not declare it and never fetches one.
	JobKind() string

	// Check refuses a replay that the target cannot take, in the transaction that starts it.
	Check(ctx context.Context, tx pgx.Tx, spec ReplaySpec) error

	// Batch gets the next events of a replay, oldest first and without their Data, in the transaction that moves the progress:
	// what it does through tx is done once for a batch, whatever crashes. Retention is kept from the events until the end of
	// tx. It answers how many events it took and how many things it made of them. An error wrapped in jobs.Discard ends the
	// replay as failed; after any other the batch is tried again.
	Batch(ctx context.Context, tx pgx.Tx, r Replay, batch []Event) (matched, queued int, err error)
}

// AddReplayTarget lets this process start and walk replays to t. It must be called before Kinds.
func (b *Bus) AddReplayTarget(t ReplayTarget) { b.replayTargets = append(b.replayTargets, t) }

// replayArgs are the args of a walking job.
type replayArgs struct {
	ReplayID string `json:"replay_id"`
}

// StartReplay begins a replay when tx commits: a job hands every event that was fanned out before, fits, and is still kept,
// to the target. Handlers of a subscription run again for events that they have handled. Events recorded since, or not yet
// fanned out, come to an active target anyway and are no part of it.
func (b *Bus) StartReplay(ctx context.Context, tx pgx.Tx, spec ReplaySpec) (Replay, error) {
	target, spec, err := b.checkReplay(ctx, tx, spec)
	if err != nil {
		return Replay{}, fmt.Errorf("replay to %s %q: %w", spec.Target, spec.Name, err)
	}
	row, err := queries(tx).InsertReplay(ctx, eventsql.InsertReplayParams{
		Target: string(spec.Target), Name: spec.Name, OwnerID: spec.OwnerID, Types: spec.Types,
		Since: timeOrNil(spec.Since), Until: spec.Until, Options: spec.Options,
	})
	if err != nil {
		return Replay{}, fmt.Errorf("start a replay: %w", err)
	}
	job, err := b.runtime.With(tx).Enqueue(ctx, target.JobKind(), replayArgs{ReplayID: row.ID}, jobs.EnqueueOpts{Owner: spec.OwnerID})
	if err != nil {
		return Replay{}, fmt.Errorf("start replay %s: %w", row.ID, err)
	}
	id := string(job)
	if err := queries(tx).SetReplayJob(ctx, eventsql.SetReplayJobParams{ID: row.ID, JobID: id}); err != nil {
		return Replay{}, fmt.Errorf("start replay %s: %w", row.ID, err)
	}
	row.JobID = &id
	return replayOf(row), nil
}

// checkReplay answers the target and the spec with its defaults filled in, or why it cannot be replayed.
func (b *Bus) checkReplay(ctx context.Context, tx pgx.Tx, spec ReplaySpec) (ReplayTarget, ReplaySpec, error) {
	target := b.replayTarget(spec.Target)
	if target == nil {
		return nil, spec, fmt.Errorf("%w: this process has no replay target of the kind %q", ErrInvalid, spec.Target)
	}
	if spec.Types == nil {
		spec.Types = []string{}
	}
	for _, glob := range spec.Types {
		if err := checkGlob(glob); err != nil {
			return nil, spec, err
		}
	}
	if err := errors.Join(checkText("name", spec.Name), checkText("owner", spec.OwnerID)); err != nil {
		return nil, spec, err
	}
	if len(spec.Options) == 0 {
		spec.Options = json.RawMessage(`{}`)
	}
	now, err := queries(tx).DatabaseNow(ctx)
	if err != nil {
		return nil, spec, err
	}
	if spec.Until.IsZero() {
		spec.Until = now
	}
	if spec.Since.After(spec.Until) {
		return nil, spec, fmt.Errorf("%w: since %s is after until %s", ErrInvalid,
			spec.Since.UTC().Format(time.RFC3339), spec.Until.UTC().Format(time.RFC3339))
	}
	return target, spec, target.Check(ctx, tx, spec)
}

func (b *Bus) replayTarget(kind ReplayKind) ReplayTarget {
	for _, t := range b.replayTargets {
		if t.Kind() == kind {
			return t
		}
	}
	return nil
}
