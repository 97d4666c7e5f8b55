package mailing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	netmail "net/mail"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/examples/notebook/note"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/mail"
	"github.com/postbus/postbus/pg"
)

// Asked is the event type: somebody asked for a note to be mailed.
const Asked = "notebook.note_mailed"

// maxText is how much of a note is mailed, in bytes.
const maxText = 64 << 10

// ErrInvalid says that an address is none.
var ErrInvalid = errors.New("not an address")

// data is what such an event carries.
type data struct {
	Email string `json:"email"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Declare adds mail to the notebook's declaration: the event type, the server, and the rule by which the one becomes the other.
func Declare(c *postbus.Config, host string, port int) {
	c.Types = append(c.Types, events.Type{Name: Asked, Description: "Somebody asked for a note to be mailed.", Subject: "note id"})
	c.Mail = &mail.Config{
		Host: host, Port: port, TLS: mail.NoTLS, From: "Notebook <notebook@localhost>",
		Backoff: jobs.Exponential(time.Second, 2, time.Minute),
		Rules: []mail.RuleSpec{{
			Name: "a note by mail", Types: []string{Asked}, To: []string{"data.email"},
			Subject: "{{.Data.title}}", Text: "{{.Data.text}}\n",
		}},
	}
}

// Mailer asks for mails and says where they stand.
type Mailer struct {
	Pool  *pgxpool.Pool
	Notes *note.Store
	Bus   *postbus.Bus
	Owner string
}

// The states of a mail, as they are shown.
const (
	Sending = "sending"
	Sent    = "sent"
	Failed  = "failed"
)

// Receipt is where one mail of a note stands.
type Receipt struct {
	EventID string     `json:"event_id"`
	To      string     `json:"to"`
	State   string     `json:"state"` // sending, sent or failed
	Reason  string     `json:"reason,omitempty"`
	AskedAt time.Time  `json:"asked_at"`
	JobID   jobs.JobID `json:"job_id,omitempty"`
}

// Ask records that the note is to be mailed, and answers the receipt of that: what is committed, and no more.
func (m *Mailer) Ask(ctx context.Context, id, to string) (Receipt, error) {
	address, err := netmail.ParseAddress(to)
	if err != nil {
		return Receipt{}, fmt.Errorf("%w: %.200q; write one such as ann@example.com", ErrInvalid, to)
	}
	n, err := m.Notes.Get(ctx, id)
	if err == nil && n.OwnerID != m.Owner {
		err = note.ErrNotFound
	}
	if err != nil {
		return Receipt{}, err
	}
	var event string
	err = pg.InTx(ctx, m.Pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		asked := data{Email: address.Address, Title: n.Title, Text: cut(n.Body)}
		event, _, err = m.Bus.Events().RecordAs(ctx, tx, "", m.Owner, Asked, id, asked)
		return err
	})
	if err != nil {
		return Receipt{}, err
	}
	return m.receipt(ctx, event)
}

// Latest answers where the latest mails of a note stand, the newest first.
func (m *Mailer) Latest(ctx context.Context, id string, most int) ([]Receipt, error) {
	page, err := m.Bus.Events().List(ctx, events.Filter{Types: []string{Asked}, OwnerID: m.Owner, Subject: id, Limit: most})
	if err != nil {
		return nil, err
	}
	receipts := make([]Receipt, 0, len(page.Events))
	for _, listed := range page.Events {
		receipt, err := m.receipt(ctx, listed.ID)
		if err != nil {
			return nil, err
		}
		receipts = append(receipts, receipt)
	}
	return receipts, nil
}

// receipt reads where the mail of an event stands. Without a mail yet, the fan-out is still to come.
func (m *Mailer) receipt(ctx context.Context, eventID string) (Receipt, error) {
	event, err := m.Bus.Events().Get(ctx, eventID)
	if err != nil {
		return Receipt{}, err
	}
	var asked data
	if err := json.Unmarshal(event.Data, &asked); err != nil {
		return Receipt{}, fmt.Errorf("read event %s: %w", eventID, err)
	}
	r := Receipt{EventID: eventID, To: asked.Email, State: Sending, AskedAt: event.OccurredAt}
	mails, err := m.Bus.Mail().Mails(ctx, mail.MailFilter{EventID: eventID, Limit: 1})
	if err != nil || len(mails.Mails) == 0 {
		return r, err
	}
	one := mails.Mails[0]
	r.Reason, r.JobID = one.Reason, one.JobID
	switch one.State {
	case mail.Failed:
		r.State = Failed
	case mail.Sent: // the mark; the job that sent it may still be about to end
		job, err := m.Bus.Inspector().Get(ctx, one.JobID)
		if errors.Is(err, jobs.ErrNotFound) || err == nil && job.State == jobs.Completed { // not found: it completed, and was pruned
			r.State, r.Reason = Sent, ""
		} else if err != nil {
			return r, err
		}
	}
	return r, nil
}

// cut keeps the beginning of a long text, whole runes only.
func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	at := maxText
	for !utf8.RuneStart(text[at]) {
		at--
	}
	return text[:at] + "…"
}
