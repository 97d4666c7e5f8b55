package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/internal/loop"
)

// beforeReplay waits, where a replay to a subscription has not begun, for the passes that are under way: those that began
// before the subscription was declared mark events that it did not get, and only once they have committed can a walk see these.
// A pass ends within 30 s, nearly always within milliseconds. Relays are not held up.
func (b *Bus) beforeReplay(ctx context.Context, id string) error {
	row, err := queries(b.pool).ReplayByID(ctx, eventsql.ReplayByIDParams{ID: id})
	if errors.Is(err, pgx.ErrNoRows) || err == nil && (row.UntilSeq != nil || ReplayKind(row.Target) != ReplaySubscription) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("replay %s: %w", id, err)
	}
	under, err := queries(b.pool).FanOutsUnderWay(ctx)
	for pause := time.Millisecond; err == nil && len(under) > 0; pause = min(2*pause, 100*time.Millisecond) {
		if err = loop.Sleep(ctx, pause); err != nil {
			break
		}
		var now []string
		now, err = queries(b.pool).FanOutsUnderWay(ctx)
		under = slices.DeleteFunc(under, func(tx string) bool { return !slices.Contains(now, tx) })
	}
	if err != nil {
		return fmt.Errorf("replay %s: wait for the relays' passes: %w", id, err)
	}
	return nil
}

// clockSlack is by how much events may be recorded out of the order of their times: a database's clock that was set back.
const clockSlack = time.Minute

// beginReplay settles between which seqs the replay walks.
func beginReplay(ctx context.Context, tx pgx.Tx, row eventsql.PostbusReplay) (eventsql.PostbusReplay, error) {
	bounds, err := queries(tx).EventBounds(ctx)
	if err != nil {
		return row, fmt.Errorf("find where to begin: %w", err)
	}
	from, until := bounds.Low-1, bounds.High
	if until, err = seek(ctx, tx, from, until, row.Until.Add(clockSlack)); err != nil {
		return row, fmt.Errorf("find where to end: %w", err)
	}
	if row.Since != nil {
		if from, err = seek(ctx, tx, from, until, row.Since.Add(-clockSlack)); err != nil {
			return row, fmt.Errorf("find where to begin: %w", err)
		}
	}
	return queries(tx).BeginReplay(ctx, eventsql.BeginReplayParams{ID: row.ID, FromSeq: from, UntilSeq: until})
}

// seek answers the highest place between low and high such that no event up to it occurred at or after the time. There is no
// index on time; seq and occurred_at are both drawn as a row is inserted, so both rise together, and a search by halves reads
// one row for each of at most 63 steps.
func seek(ctx context.Context, tx pgx.Tx, low, high int64, at time.Time) (int64, error) {
	for low < high {
		middle := low + (high-low)/2
		next, err := queries(tx).NextEvent(ctx, eventsql.NextEventParams{AfterSeq: middle})
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return 0, err
		}
		if err != nil || next.Seq > high || !next.OccurredAt.Before(at) {
			high = middle
		} else {
			low = next.Seq
		}
	}
	return low, nil
}
