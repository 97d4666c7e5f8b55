package events

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// ReplayFilter selects replays. Zero fields do not select.
type ReplayFilter struct {
	Target  ReplayKind
	Name    string
	OwnerID string // replays of this owner's events only
	State   ReplayState
	Cursor  string // ReplayPage.Next of the page before
	Limit   int    // default 50, at most 200
}

// ReplayPage is one page of replays, newest first. Next is "" on the last one.
type ReplayPage struct {
	Replays []Replay
	Next    string
}

// Replay answers one replay as it stands. It is kept 30 days after its end.
func (b *Bus) Replay(ctx context.Context, id string) (Replay, error) {
	return readReplay(ctx, b.pool, id)
}

func readReplay(ctx context.Context, db pg.DBTX, id string) (Replay, error) {
	if !isUUID(id) {
		return Replay{}, fmt.Errorf("%w: %q is not a replay id (a UUID)", ErrReplayNotFound, id)
	}
	row, err := queries(db).ReplayByID(ctx, eventsql.ReplayByIDParams{ID: id})
	if errors.Is(err, pgx.ErrNoRows) {
		return Replay{}, fmt.Errorf("replay %s: %w", id, ErrReplayNotFound)
	}
	if err != nil {
		return Replay{}, fmt.Errorf("read replay %s: %w", id, err)
	}
	return replayOf(row), nil
}

// CancelReplay ends a replay when tx commits and answers it as it then stands. What it has handed over stays; one that has
// ended already is left as it is.
func (b *Bus) CancelReplay(ctx context.Context, tx pgx.Tx, id string) (Replay, error) {
	if _, err := readReplay(ctx, tx, id); err != nil {
		return Replay{}, err
	}
	if err := queries(tx).CancelReplay(ctx, eventsql.CancelReplayParams{ID: id}); err != nil {
		return Replay{}, fmt.Errorf("cancel replay %s: %w", id, err)
	}
	return readReplay(ctx, tx, id)
}

// Replays answers a page of replays, newest first.
func (b *Bus) Replays(ctx context.Context, f ReplayFilter) (ReplayPage, error) {
	limit := orDefault(f.Limit, 50)
	if limit < 1 || limit > 200 {
		return ReplayPage{}, fmt.Errorf("%w: limit %d; use 1 to 200", ErrInvalid, limit)
	}
	switch f.State {
	case "", ReplayRunning, ReplayDone, ReplayFailed, ReplayCancelled:
	default:
		return ReplayPage{}, fmt.Errorf("%w: state %q; use %q, %q, %q or %q", ErrInvalid, f.State,
			ReplayRunning, ReplayDone, ReplayFailed, ReplayCancelled)
	}
	before, id, err := replayCursor(f.Cursor)
	if err != nil {
		return ReplayPage{}, err
	}
	rows, err := queries(pg.Planned{DBTX: b.pool}).ListReplays(ctx, eventsql.ListReplaysParams{
		Target: string(f.Target), Name: f.Name, OwnerID: f.OwnerID, State: string(f.State),
		Before: before, BeforeID: id, PageSize: int32(limit) + 1,
	})
	if err != nil {
		return ReplayPage{}, fmt.Errorf("list replays: %w", err)
	}
	var page ReplayPage
	if len(rows) > limit {
		rows = rows[:limit]
		last := rows[limit-1]
		page.Next = base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "r%d.%s", last.CreatedAt.UnixMicro(), last.ID))
	}
	for _, row := range rows {
		page.Replays = append(page.Replays, replayOf(row))
	}
	return page, nil
}

func replayCursor(cursor string) (*time.Time, string, error) {
	if cursor == "" {
		return nil, "00000000-0000-0000-0000-000000000000", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if place, ok := strings.CutPrefix(string(raw), "r"); err == nil && ok {
		micros, id, _ := strings.Cut(place, ".")
		if n, err := strconv.ParseInt(micros, 10, 64); err == nil && isUUID(id) {
			at := time.UnixMicro(n)
			return &at, id, nil
		}
	}
	return nil, "", fmt.Errorf("%w: cursor %q is not one that a page gave", ErrInvalid, cursor)
}

func replayOf(row eventsql.PostbusReplay) Replay {
	r := Replay{
		ID: row.ID, State: ReplayState(row.State), Matched: row.Matched, Queued: row.Queued, Error: deref(row.Error),
		JobID: jobs.JobID(deref(row.JobID)), CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), FinishedAt: row.FinishedAt,
		ReplaySpec: ReplaySpec{
			Target: ReplayKind(row.Target), Name: row.Name, OwnerID: row.OwnerID, Types: row.Types, Until: row.Until.UTC(), Options: row.Options,
		},
	}
	if row.Since != nil {
		r.Since = row.Since.UTC()
	}
	if row.UntilSeq != nil && *row.UntilSeq > row.FromSeq {
		r.Progress = float64(row.AfterSeq-row.FromSeq) / float64(*row.UntilSeq-row.FromSeq)
	}
	if r.State == ReplayDone {
		r.Progress = 1
	}
	return r
}
