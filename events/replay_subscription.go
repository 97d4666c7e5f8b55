package events

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/internal/tracing"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// subscriptionReplay makes jobs of a subscription, the same that the relay makes. The subscription may be another
// application's: its jobs wait for that.
type subscriptionReplay struct{ bus *Bus }

func (subscriptionReplay) Kind() ReplayKind { return ReplaySubscription }
func (subscriptionReplay) JobKind() string  { return "events.replay" }

func (subscriptionReplay) Check(ctx context.Context, tx pgx.Tx, spec ReplaySpec) error {
	if _, err := subscriptionOptions(spec.Options); err != nil {
		return err
	}
	_, err := activeTarget(ctx, tx, spec.Name)
	return err
}

func subscriptionOptions(raw json.RawMessage) (SubscriptionReplayOptions, error) {
	var options SubscriptionReplayOptions
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&options); err != nil {
		return options, fmt.Errorf(`%w: options %s: use an object with nothing but "missed_only": %w`, ErrInvalid, raw, err)
	}
	return options, nil
}

// activeTarget answers the subscription as the relay sees it, ErrInvalid where nobody declares it.
func activeTarget(ctx context.Context, db pg.DBTX, name string) (target, error) {
	targets, err := readTargets(ctx, db)
	if err != nil {
		return target{}, err
	}
	for _, t := range targets {
		if t.name == name {
			return t, nil
		}
	}
	return target{}, fmt.Errorf("%w: subscription %q is declared by no instance seen in the last %s", ErrInvalid, name, grace)
}

func (s subscriptionReplay) Batch(ctx context.Context, tx pgx.Tx, r Replay, batch []Event) (matched, queued int, err error) {
	t, err := activeTarget(ctx, tx, r.Name)
	if errors.Is(err, ErrInvalid) {
		return 0, 0, jobs.Discard(err)
	}
	if err != nil {
		return 0, 0, err
	}
	events := make([]claimedEvent, len(batch))
	for i, e := range batch {
		events[i] = claimedEvent{ID: e.ID, Type: e.Type, OwnerID: e.OwnerID, Subject: e.Subject, Trace: tracing.Clean(e.Trace)}
	}
	t.batch = 0 // a wide job would cover what the events' fan-out names, and that is not this replay's job
	p := planFor(events, []target{t})
	if len(p.jobs) == 0 {
		return 0, 0, nil
	}
	ids, err := s.bus.runtime.With(tx).EnqueueMany(ctx, p.jobs)
	if err != nil {
		return 0, 0, fmt.Errorf("enqueue %d jobs: %w", len(p.jobs), err)
	}
	var note eventsql.NoteReplayedParams
	for i, refs := range p.refs {
		if at, ok := refs[t.name]; ok {
			note.EventIds, note.JobIds = append(note.EventIds, batch[i].ID), append(note.JobIds, string(ids[at]))
		}
	}
	if err := queries(tx).NoteReplayed(ctx, note); err != nil {
		return 0, 0, fmt.Errorf("note the jobs: %w", err)
	}
	return len(note.EventIds), len(p.jobs), nil
}

// replayedJobs holds events while a job that a replay made for them is unfinished.
type replayedJobs struct{ bus *Bus }

func (k replayedJobs) Holding(ctx context.Context, tx pgx.Tx, eventIDs []string) ([]string, error) {
	rows, err := queries(tx).ReplayedJobs(ctx, eventsql.ReplayedJobsParams{EventIds: eventIDs})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	ids := make([]jobs.JobID, len(rows))
	for i, row := range rows {
		ids[i] = jobs.JobID(row.JobID)
	}
	busy, err := k.bus.unfinished(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	var held []string
	for _, row := range rows {
		if busy[jobs.JobID(row.JobID)] {
			held = append(held, row.EventID)
		}
	}
	return held, nil
}

func (k replayedJobs) Pruned(ctx context.Context, tx pgx.Tx, eventIDs []string) error {
	return queries(tx).ForgetReplayed(ctx, eventsql.ForgetReplayedParams{EventIds: eventIDs})
}
