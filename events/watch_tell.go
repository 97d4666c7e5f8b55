package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/pg"
)

// maxAlertText is in bytes: an alert's message may name many things.
const maxAlertText = 2000

// AlertNotice is the data of the events postbus.alert.raised and postbus.alert.cleared.
type AlertNotice struct {
	// Name is the alert's, About the kind or endpoint that it is about, "" where it is about the whole.
	Name  string `json:"name"`
	About string `json:"about,omitempty"`
	// Count, Message and WayOut are the alert's, of all that it is about, as it stood when this was recorded, or was last seen.
	Count   int64  `json:"count"`
	Message string `json:"message"`
	WayOut  string `json:"way_out"`
	// ClearedAt is missing in postbus.alert.raised.
	RaisedAt  time.Time  `json:"raised_at"`
	ClearedAt *time.Time `json:"cleared_at,omitempty"`
}

func (n AlertNotice) subject() string {
	if n.About == "" {
		return n.Name
	}
	return n.Name + "/" + n.About
}

// finding is what one look found.
type finding struct {
	lookedAt time.Time
	watched  []string
	standing []standing
	crowded  map[string]bool // names that are about more than is listed
}

// standing is an alert about one thing.
type standing struct {
	name, about     string
	count           int64
	message, wayOut string
}

func (s standing) compare(o standing) int {
	if c := strings.Compare(s.name, o.name); c != 0 {
		return c
	}
	return strings.Compare(s.about, o.about)
}

func (f *finding) add(a Alert) {
	about := a.About
	if len(about) >= mostAbout {
		about, f.crowded[a.Name] = about[:mostAbout], true
	}
	if len(about) == 0 {
		about = []string{""}
	}
	for _, thing := range about {
		f.standing = append(f.standing, standing{name: a.Name, about: thing, count: a.Count, message: cutText(a.Message), wayOut: a.WayOut})
	}
}

// cutText bounds a message, and keeps it UTF-8.
func cutText(text string) string {
	if len(text) <= maxAlertText {
		return text
	}
	return strings.ToValidUTF8(text[:maxAlertText], "") + "…"
}

// tell raises and clears in one transaction with the events that say so. All go over the open alerts in one order, so that
// processes that look at once wait for each other and do not deadlock.
func (w *watch) tell(ctx context.Context, f finding) error {
	err := pg.InShortTx(ctx, w.bus.pool, func(ctx context.Context, tx pgx.Tx) error {
		open, err := queries(tx).OpenAlerts(ctx, eventsql.OpenAlertsParams{OwnerID: w.bus.cfg.AlertOwner})
		if err != nil {
			return err
		}
		for _, s := range f.standing {
			if err := w.stands(ctx, tx, f, s, open); err != nil {
				return err
			}
		}
		for _, row := range open {
			if err := w.absent(ctx, tx, f, row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("tell of alerts: %w", err)
	}
	return nil
}

// stands raises an alert that is not open.
func (w *watch) stands(ctx context.Context, tx pgx.Tx, f finding, s standing, open []eventsql.OpenAlertsRow) error {
	at := slices.IndexFunc(open, func(o eventsql.OpenAlertsRow) bool { return o.Name == s.name && o.About == s.about })
	if at >= 0 {
		return queries(tx).SeeAlert(ctx, eventsql.SeeAlertParams{
			ID: open[at].ID, Count: s.count, Message: s.message, WayOut: s.wayOut, LookedAt: f.lookedAt,
		})
	}
	raisedAt, err := queries(tx).RaiseAlert(ctx, eventsql.RaiseAlertParams{
		OwnerID: w.bus.cfg.AlertOwner, Name: s.name, About: s.about, Count: s.count, Message: s.message, WayOut: s.wayOut, LookedAt: f.lookedAt,
	})
	if errors.Is(err, pgx.ErrNoRows) { // another process was first
		return nil
	}
	if err != nil {
		return err
	}
	return w.record(ctx, tx, AlertRaised, AlertNotice{
		Name: s.name, About: s.about, Count: s.count, Message: s.message, WayOut: s.wayOut, RaisedAt: raisedAt.UTC(),
	})
}

// absent clears an open alert that does not stand, where the look before did not find it either.
func (w *watch) absent(ctx context.Context, tx pgx.Tx, f finding, o eventsql.OpenAlertsRow) error {
	stands := slices.ContainsFunc(f.standing, func(s standing) bool { return s.name == o.Name && s.about == o.About })
	if stands || f.crowded[o.Name] || !slices.Contains(f.watched, o.Name) {
		return nil
	}
	row, err := queries(tx).ClearAlert(ctx, eventsql.ClearAlertParams{
		ID: o.ID, LookedAt: f.lookedAt, AbsentBefore: f.lookedAt.Add(-absentFor),
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return queries(tx).MissAlert(ctx, eventsql.MissAlertParams{ID: o.ID, LookedAt: f.lookedAt})
	}
	if err != nil {
		return err
	}
	cleared := row.ClearedAt.UTC()
	return w.record(ctx, tx, AlertCleared, AlertNotice{
		Name: row.Name, About: row.About, Count: row.Count, Message: row.Message, WayOut: row.WayOut,
		RaisedAt: row.RaisedAt.UTC(), ClearedAt: &cleared,
	})
}

// record is held to the default limit of data, not to one that an application chose for its own.
func (w *watch) record(ctx context.Context, tx pgx.Tx, typ string, n AlertNotice) error {
	r := w.bus.Recorder().With(tx).(recorder)
	r.maxBytes = defaultMaxDataBytes
	return r.Record(ctx, w.bus.cfg.AlertOwner, typ, n.subject(), n)
}
