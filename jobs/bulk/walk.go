package bulk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/bulksql"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

const (
	// chunk is how many jobs one transaction acts on at most.
	chunk = 1000
	// turn is how long a job works before it lets others of its queue go first.
	turn = 5 * time.Second
	// countTo is how far what there is to do is counted.
	countTo = 1_000_000
	// noteWithin bounds the note of a failure, which is written when the run's own time is over too.
	noteWithin = 5 * time.Second
)

// args are the args of a job that does an act.
type args struct {
	ActID string `json:"act_id"`
}

// handle does an act, or goes on with it. All that it knows is in the row, so any run goes on where the last one was.
func (s *Service) handle(ctx context.Context, raw json.RawMessage) error {
	var in args
	if err := json.Unmarshal(raw, &in); err != nil || !isUUID(in.ActID) {
		return jobs.Discard(fmt.Errorf("the job of a bulk act carries no act id: %s", raw))
	}
	for began := time.Now(); ; {
		ended, err := s.step(ctx, in.ActID)
		switch {
		case err != nil:
			return s.setBack(ctx, in.ActID, err)
		case ended:
			return nil
		case time.Since(began) > turn:
			return jobs.Snooze(0)
		}
	}
}

// step does one chunk and moves the progress, in one transaction. It reports whether the act has ended.
func (s *Service) step(ctx context.Context, id string) (ended bool, err error) {
	err = pg.InShortTx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		row, err := queries(tx).LockAct(ctx, bulksql.LockActParams{ID: id})
		state := State(row.State)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && (state == Done || state == Cancelled) {
			ended = true
			return nil
		}
		if err != nil {
			return err
		}
		act, err := actOf(row)
		if err != nil {
			return err
		}
		ended, err = s.move(ctx, tx, act, row.Cursor)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("bulk act %s: %w", id, err)
	}
	return ended, nil
}

// move acts on the next jobs below the cursor, which is of the queue's list: newest first, so that what was acted on is not
// come by again. Jobs made since the act was asked for are left out, its own among them.
func (s *Service) move(ctx context.Context, tx pgx.Tx, act Act, cursor string) (ended bool, err error) {
	in, filter := s.runtime.Inspector().With(tx), act.Filter
	if filter.Before.IsZero() || filter.Before.After(act.CreatedAt) {
		filter.Before = act.CreatedAt
	}
	if act.StartedAt == nil {
		filter.Limit = countTo
		matched, err := in.Count(ctx, filter)
		if err != nil {
			return false, err
		}
		err = queries(tx).BeginAct(ctx, bulksql.BeginActParams{ID: act.ID, Matched: matched.N, About: matched.About})
		if err != nil {
			return false, err
		}
	}
	filter.Cursor, filter.Limit = cursor, chunk
	page, err := in.ListIDs(ctx, filter)
	if err != nil {
		return false, err
	}
	changed, err := act.Verb.do(ctx, in, page.IDs, filter.States)
	if err != nil {
		return false, err
	}
	progress := bulksql.MoveActParams{
		ID: act.ID, Seen: int64(len(page.IDs)), Changed: int64(changed), Cursor: page.Next, State: string(Running),
	}
	if ended = page.Next == ""; ended {
		progress.State, progress.Cursor = string(Done), cursor
	}
	return ended, queries(tx).MoveAct(ctx, progress)
}

// do acts on these jobs, as far as they are still in one of the states.
func (v Verb) do(ctx context.Context, in jobs.Inspector, ids []jobs.JobID, states []jobs.State) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	filter := jobs.Filter{IDs: ids, States: states}
	switch v {
	case Retry:
		return in.RetryMany(ctx, filter)
	case Cancel:
		return in.CancelMany(ctx, filter)
	case Acknowledge:
		return in.AcknowledgeMany(ctx, filter)
	}
	return 0, fmt.Errorf("%w: bulk act %q: this version does not know it", jobs.ErrInvalid, v)
}

// setBack notes why a chunk failed. Where no attempt will mend it, or the last one is spent, the act has failed. A run that is
// stopped or cancelled says nothing about the act.
func (s *Service) setBack(ctx context.Context, id string, cause error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
	defer cancel()
	if errors.Is(cause, jobs.ErrInvalid) {
		cause = jobs.Discard(cause)
	}
	state := Running
	if jobs.IsDiscard(cause) || s.lastAttempt(ctx, id) {
		state = Failed
	}
	err := queries(s.pool).SetBack(ctx, bulksql.SetBackParams{ID: id, Error: cause.Error(), State: string(state)})
	if err != nil {
		s.log.WarnContext(ctx, "the setback of a bulk act is not on record", "act", id, "setback", cause, "error", err)
	}
	return cause
}

// lastAttempt says whether the act's job has no attempt left after this one.
func (s *Service) lastAttempt(ctx context.Context, id string) bool {
	act, err := s.Get(ctx, id)
	if err != nil {
		return false
	}
	job, err := s.runtime.Inspector().Get(ctx, act.JobID)
	return err == nil && job.Attempt >= job.MaxAttempts
}
