package events

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/pg"
)

// Filter selects events. Zero fields do not select.
type Filter struct {
	Types   []string
	OwnerID string
	Subject string
	Status  Status
	Since   time.Time // occurred at or after
	Until   time.Time // occurred before
	Cursor  string    // Page.Next of the page before
	Limit   int       // default 50, at most 200
}

// Page is one page of events, newest first. Next is "" on the last one.
type Page struct {
	Events []Detail
	Next   string
}

func queries(db pg.DBTX) *eventsql.Queries { return eventsql.New(db) }

// Get answers one event and what became of it.
func (b *Bus) Get(ctx context.Context, id string) (Detail, error) { return b.Read(ctx, b.pool, id) }

// Read answers what Get does, read through db.
func (b *Bus) Read(ctx context.Context, db pg.DBTX, id string) (Detail, error) {
	if !isUUID(id) {
		return Detail{}, noEvent(id)
	}
	row, err := queries(db).EventByID(ctx, eventsql.EventByIDParams{ID: id})
	return found(row, err, "event "+id)
}

// Hold reads the event as Read does and keeps retention from it until tx ends: whoever begins something that needs the event
// later, such as a delivery, holds it in the transaction that says so.
func (b *Bus) Hold(ctx context.Context, tx pgx.Tx, id string) (Detail, error) {
	if !isUUID(id) {
		return Detail{}, noEvent(id)
	}
	row, err := queries(tx).HoldEvent(ctx, eventsql.HoldEventParams{ID: id})
	return found(row, err, "event "+id)
}

func noEvent(id string) error {
	return fmt.Errorf("%w: %q is not an event id (a UUID)", ErrNotFound, id)
}

// LatestFor answers the subject's newest event, for instance the one that a trigger has just recorded.
func (b *Bus) LatestFor(ctx context.Context, ownerID, subject string) (Detail, error) {
	row, err := queries(b.pool).LatestFor(ctx, eventsql.LatestForParams{OwnerID: ownerID, Subject: subject})
	return found(row, err, fmt.Sprintf("event of owner %q, subject %q", ownerID, subject))
}

func found(row eventsql.PostbusEvent, err error, what string) (Detail, error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return Detail{}, fmt.Errorf("%s: %w", what, ErrNotFound)
	}
	if err != nil {
		return Detail{}, fmt.Errorf("read %s: %w", what, err)
	}
	return detailOf(row)
}

// List answers a page of events without their data, newest first. Where a filter beside owner, types or status finds few, a page
// may have fewer than Limit, even none, and a Next: it has looked at as many as it may.
func (b *Bus) List(ctx context.Context, f Filter) (Page, error) {
	params, err := f.params()
	if err != nil {
		return Page{}, err
	}
	look := &look{queries: queries(pg.Planned{DBTX: b.pool}), params: params}
	rows, next, err := look.page(ctx)
	if err != nil {
		return Page{}, fmt.Errorf("list events: %w", err)
	}
	var page Page
	if next > 0 {
		page.Next = cursorOf(next)
	}
	for _, row := range rows {
		detail, err := listedOf(row)
		if err != nil {
			return Page{}, err
		}
		page.Events = append(page.Events, detail)
	}
	return page, nil
}

func (f Filter) params() (eventsql.ListEventsParams, error) {
	limit := orDefault(f.Limit, 50)
	if limit < 1 || limit > 200 {
		return eventsql.ListEventsParams{}, fmt.Errorf("%w: limit %d; use 1 to 200", ErrInvalid, limit)
	}
	switch f.Status {
	case "", Pending, Fanned, Poisoned:
	default:
		return eventsql.ListEventsParams{}, fmt.Errorf("%w: status %q; use %q, %q or %q", ErrInvalid, f.Status, Pending, Fanned, Poisoned)
	}
	before, err := seqOf(f.Cursor)
	if err != nil {
		return eventsql.ListEventsParams{}, err
	}
	if before == 0 {
		before = math.MaxInt64
	}
	types := f.Types
	if types == nil {
		types = []string{}
	}
	return eventsql.ListEventsParams{
		BeforeSeq: before, Types: types, OwnerID: f.OwnerID, Subject: f.Subject, Status: string(f.Status),
		Since: timeOrNil(f.Since), Until: timeOrNil(f.Until), PageSize: int32(limit) + 1,
	}, nil
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// A cursor is opaque to callers; inside it is the last row's seq.
func cursorOf(seq int64) string {
	return base64.RawURLEncoding.EncodeToString([]byte("e" + strconv.FormatInt(seq, 10)))
}

func seqOf(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if digits, ok := strings.CutPrefix(string(raw), "e"); err == nil && ok {
		if seq, err := strconv.ParseInt(digits, 10, 64); err == nil && seq > 0 {
			return seq, nil
		}
	}
	return 0, fmt.Errorf("%w: cursor %q is not one that a page gave", ErrInvalid, cursor)
}

// isUUID accepts the form in which ids are answered; everything else is nobody's id.
func isUUID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i, c := range []byte(id) {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
				return false
			}
		}
	}
	return true
}
