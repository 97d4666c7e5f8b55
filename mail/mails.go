package mail

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/mailsql"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// State is where a mail stands.
type State string

const (
	// Sending mails wait for their first or next attempt, or are under way.
	Sending State = "sending"
	// Sent ones were taken by the server.
	Sent State = "sent"
	// Failed ones were given up, for the reason that they carry.
	Failed State = "failed"
)

// Mail is one event for one recipient.
type Mail struct {
	ID       string
	RuleID   string
	RuleName string
	// Test says that it was asked for by hand.
	Test      bool
	EventID   string
	EventType string
	OwnerID   string // the event's
	// Recipient is the address, or what was given for one and refused.
	Recipient string
	// MessageID is the header's value, the same over all attempts; "" before the first.
	MessageID string
	State     State
	// Reason says why it failed, or how its last attempt did.
	Reason   string
	Attempts int
	// NotBefore is when the window opens for which it waits; of a sending one.
	NotBefore *time.Time
	JobID     jobs.JobID
	CreatedAt time.Time
	SettledAt *time.Time
}

// MailFilter selects mails. Zero fields do not select.
type MailFilter struct {
	OwnerID, RuleID, EventID, Recipient string
	States                              []State
	Cursor                              string // MailPage.Next of the page before
	Limit                               int    // default 50, at most 200
}

// MailPage is one page of mails, newest first. Next is "" on the last one.
type MailPage struct {
	Mails []Mail
	Next  string
}

// Mails answers a page of mails, those of deleted rules too. They are kept as long as their event. Where more than one filter finds
// few, a page may have fewer than Limit, even none, and a Next: it has looked at as many as it may.
func (s *Service) Mails(ctx context.Context, f MailFilter) (MailPage, error) {
	params, err := f.params()
	if err != nil {
		return MailPage{}, err
	}
	q := queries(pg.Planned{DBTX: s.db()})
	if params.FromID, err = floor(ctx, q, params); err != nil {
		return MailPage{}, fmt.Errorf("list mails: %w", err)
	}
	rows, err := q.ListMails(ctx, params)
	if err != nil {
		return MailPage{}, fmt.Errorf("list mails: %w", err)
	}
	var page MailPage
	next := params.FromID
	if most := int(params.PageSize) - 1; len(rows) > most {
		rows = rows[:most]
		next = rows[most-1].ID
	}
	if next > 0 {
		page.Next = cursorOf("mail", strconv.FormatInt(next, 10))
	}
	page.Mails = make([]Mail, len(rows))
	for i, row := range rows {
		page.Mails[i] = mailOf(row)
	}
	return page, nil
}

// lookAll and lookSome are how many mails a page looks at: those that lie side by side, and those that an index names.
const lookAll, lookSome = 2000, 200

// floor answers the id down to which a page looks, 0 for all: where one index answers what is asked, there is nothing to bound.
func floor(ctx context.Context, q *mailsql.Queries, p mailsql.ListMailsParams) (int64, error) {
	look := mailsql.LookAtMailsParams{BeforeID: p.BeforeID, Look: max(p.PageSize, lookSome)}
	filters := 0
	for _, given := range []bool{p.OwnerID != "", p.RuleID != nil, p.Recipient != "", len(p.States) > 0} {
		if given {
			filters++
		}
	}
	unsent := len(p.States) == 1 && p.States[0] != string(Sent)
	switch {
	case p.EventID != nil || filters == 0 || filters == 1 && (len(p.States) == 0 || unsent):
		return 0, nil
	case p.Recipient != "":
		look.Recipient = p.Recipient
	case p.RuleID != nil:
		look.RuleID = p.RuleID
	case p.OwnerID != "":
		look.OwnerID = p.OwnerID
	default:
		look.Look = lookAll
	}
	id, err := q.LookAtMails(ctx, look)
	if errors.Is(err, pgx.ErrNoRows) { // fewer than that are left
		return 0, nil
	}
	return id, err
}

func (f MailFilter) params() (mailsql.ListMailsParams, error) {
	p := mailsql.ListMailsParams{
		OwnerID: f.OwnerID, RuleID: nullable(f.RuleID), EventID: nullable(f.EventID), Recipient: f.Recipient, States: []string{},
	}
	limit, err := pageSize(f.Limit)
	if err != nil {
		return p, err
	}
	p.PageSize = int32(limit) + 1
	key, err := keyOf("mail", f.Cursor)
	if err != nil {
		return p, err
	}
	if key != "" {
		if p.BeforeID, err = mailID(key); err != nil {
			return p, badCursor(f.Cursor)
		}
	}
	for _, id := range []struct{ name, value string }{{"rule_id", f.RuleID}, {"event_id", f.EventID}} {
		if id.value != "" && !isUUID(id.value) {
			return p, fmt.Errorf("%w: %s %q is not an id (a UUID)", ErrInvalid, id.name, id.value)
		}
	}
	for _, state := range f.States {
		switch state {
		case Sending, Sent, Failed:
			p.States = append(p.States, string(state))
		default:
			return p, fmt.Errorf("%w: state %q; use %q, %q or %q", ErrInvalid, state, Sending, Sent, Failed)
		}
	}
	return p, nil
}

// Mail answers one mail.
func (s *Service) Mail(ctx context.Context, id string) (Mail, error) {
	n, err := mailID(id)
	if err != nil {
		return Mail{}, err
	}
	row, err := queries(s.db()).MailByID(ctx, mailsql.MailByIDParams{ID: n})
	if errors.Is(err, pgx.ErrNoRows) {
		return Mail{}, noMail(id)
	}
	if err != nil {
		return Mail{}, fmt.Errorf("read mail %s: %w", id, err)
	}
	return mailOf(row), nil
}

func mailOf(row mailsql.PostbusMail) Mail {
	m := Mail{
		ID: strconv.FormatInt(row.ID, 10), RuleID: row.RuleID, RuleName: row.RuleName, Test: row.Test, EventID: row.EventID,
		EventType: row.EventType, OwnerID: row.OwnerID, Recipient: row.Recipient, MessageID: header(row.MessageID), State: State(row.State),
		Reason: deref(row.Reason), Attempts: int(row.Attempts), JobID: jobs.JobID(deref(row.JobID)), CreatedAt: row.CreatedAt.UTC(),
		SettledAt: utc(row.SettledAt),
	}
	if m.State == Sending {
		m.NotBefore = utc(later(row.RuleSlotAt, row.SlotAt))
	}
	return m
}

// later is the one that comes last; nil is before all.
func later(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.After(*a) {
		return b
	}
	return a
}

// header is the Message-ID as the mail has it.
func header(messageID string) string {
	if !strings.Contains(messageID, "@") {
		return ""
	}
	return "<" + messageID + ">"
}
