package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

const (
	replayBatch  = 500
	replayWindow = 10_000
	// replayTurn is how long a job walks before it lets others of its queue go first.
	replayTurn     = 5 * time.Second
	replayAttempts = 20
	replayKept     = 30 * 24 * time.Hour
)

// replayKind is the kind of job that walks replays to t.
func (b *Bus) replayKind(t ReplayTarget) jobs.Kind {
	kind := jobs.Kind{Name: t.JobKind(), Queue: jobs.MaintenanceQueue, MaxAttempts: replayAttempts, Handle: b.walk(t)}
	kind.Timeout, kind.Backoff = jobs.DefaultTimeout, jobs.DefaultBackoff
	return kind
}

// walk is the handler of a replay's job. All that it knows is in the row, so any run goes on where the last one was.
func (b *Bus) walk(t ReplayTarget) jobs.Handler {
	return func(ctx context.Context, raw json.RawMessage) error {
		var args replayArgs
		if err := json.Unmarshal(raw, &args); err != nil || !isUUID(args.ReplayID) {
			return jobs.Discard(fmt.Errorf("job of a replay carries no replay id: %s", raw))
		}
		began := time.Now()
		if err := b.beforeReplay(ctx, args.ReplayID); err != nil {
			return b.replayFailed(ctx, args.ReplayID, err)
		}
		for {
			ended, err := b.replayStep(ctx, t, args.ReplayID)
			switch {
			case err != nil:
				return b.replayFailed(ctx, args.ReplayID, err)
			case ended:
				return nil
			case time.Since(began) > replayTurn:
				return jobs.Snooze(0)
			}
		}
	}
}

// replayFailed notes why a step failed. A fault of the replay's own ends it, and its job is discarded so that its alert
// stands; anything else is tried again.
func (b *Bus) replayFailed(ctx context.Context, id string, cause error) error {
	if ctx.Err() != nil {
		return cause
	}
	state := ReplayRunning
	if jobs.IsDiscard(cause) {
		state = ReplayFailed
	}
	err := queries(b.pool).FailReplay(ctx, eventsql.FailReplayParams{ID: id, Error: cause.Error(), State: string(state)})
	if err != nil && state == ReplayFailed {
		return fmt.Errorf("note that replay %s failed (%v): %w", id, cause, err)
	}
	return cause
}

// replayStep hands over one batch and moves the progress, in one transaction. It reports whether the replay has ended.
func (b *Bus) replayStep(ctx context.Context, t ReplayTarget, id string) (ended bool, err error) {
	err = pg.InShortTx(ctx, b.pool, func(ctx context.Context, tx pgx.Tx) error {
		row, err := queries(tx).LockReplay(ctx, eventsql.LockReplayParams{ID: id})
		state := ReplayState(row.State)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && (state == ReplayDone || state == ReplayCancelled) {
			ended = true
			return nil
		}
		if err == nil && row.UntilSeq == nil {
			row, err = beginReplay(ctx, tx, row)
		}
		if err != nil {
			return err
		}
		ended, err = moveReplay(ctx, tx, t, row)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("replay %s: %w", id, err)
	}
	return ended, nil
}

func moveReplay(ctx context.Context, tx pgx.Tx, t ReplayTarget, row eventsql.PostbusReplay) (ended bool, err error) {
	q := queries(tx)
	move := eventsql.MoveReplayParams{ID: row.ID, State: string(ReplayRunning)}
	move.AfterSeq, err = q.ReplayWindow(ctx, eventsql.ReplayWindowParams{AfterSeq: row.AfterSeq, UntilSeq: *row.UntilSeq, Size: replayWindow})
	if err != nil {
		return false, fmt.Errorf("look ahead: %w", err)
	}
	if move.AfterSeq == 0 {
		move.AfterSeq, move.State = *row.UntilSeq, string(ReplayDone)
		return true, q.MoveReplay(ctx, move)
	}
	batch, err := replayEvents(ctx, tx, row, move.AfterSeq)
	if err != nil {
		return false, fmt.Errorf("read a batch: %w", err)
	}
	if len(batch) == replayBatch {
		move.AfterSeq = batch[len(batch)-1].Seq
	}
	if len(batch) > 0 {
		matched, queued, err := t.Batch(ctx, tx, replayOf(row), batch)
		if err != nil {
			return false, err
		}
		move.Matched, move.Queued = int64(matched), int64(queued)
	}
	return false, q.MoveReplay(ctx, move)
}

func replayEvents(ctx context.Context, tx pgx.Tx, row eventsql.PostbusReplay, until int64) ([]Event, error) {
	params := eventsql.ReplayBatchParams{
		AfterSeq: row.AfterSeq, UntilSeq: until, FannedBefore: row.FannedBefore, OwnerID: row.OwnerID,
		Types: []string{}, Prefixes: []string{}, Since: row.Since, Until: row.Until, BatchSize: replayBatch,
	}
	for _, glob := range row.Types {
		if prefix, ok := strings.CutSuffix(glob, "*"); ok {
			params.Prefixes = append(params.Prefixes, prefix)
		} else {
			params.Types = append(params.Types, glob)
		}
	}
	if ReplayKind(row.Target) == ReplaySubscription {
		options, err := subscriptionOptions(row.Options)
		if err != nil {
			return nil, jobs.Discard(err)
		}
		params.Subscription, params.MissedOnly = row.Name, options.MissedOnly
	}
	rows, err := queries(tx).ReplayBatch(ctx, params)
	if err != nil {
		return nil, err
	}
	batch := make([]Event, len(rows))
	for i, r := range rows {
		batch[i] = Event{
			ID: r.ID, Seq: r.Seq, Type: r.Type, OwnerID: r.OwnerID, Subject: r.Subject, OccurredAt: r.OccurredAt.UTC(), Trace: r.Trace,
		}
	}
	return batch, nil
}
