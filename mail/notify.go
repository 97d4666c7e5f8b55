package mail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/dbsqlc/mailsql"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/mail/internal/letter"
	"github.com/postbus/postbus/mail/internal/smtp"
)

// Why mails are given up without a fault that anybody should see to.
const (
	noServer     = "no mail server is configured: set Config.Mail.Host, or POSTBUS_SMTP_HOST"
	ruleDeleted  = "the rule was deleted"
	ruleDisabled = "the rule is disabled"
)

// notify handles owner.notify: it sends one mail, once, and then marks it as sent.
func (s *Service) notify(ctx context.Context, raw json.RawMessage) error {
	var args notifyArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return jobs.Discard(fmt.Errorf("a job of %s without a mail: %w", Notify, err))
	}
	id, err := mailID(args.MailID)
	if err != nil {
		return jobs.Discard(err)
	}
	row, err := queries(s.pool).MailByID(ctx, mailsql.MailByIDParams{ID: id})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return jobs.Discard(noMail(args.MailID))
	case err != nil:
		return fmt.Errorf("read mail %d: %w", id, err)
	case row.State == string(Sent):
		return report(ctx, row, Sent, "it was sent before")
	case row.Refused:
		return s.discard(ctx, row, errors.New(deref(row.Reason)))
	case s.sender == nil:
		return s.elsewhere(ctx, row)
	}
	rule, err := queries(s.pool).RuleByID(ctx, mailsql.RuleByIDParams{ID: row.RuleID})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return s.giveUp(ctx, row, ruleDeleted)
	case err != nil:
		return fmt.Errorf("read rule %s: %w", row.RuleID, err)
	case !rule.Enabled && !row.Test:
		return s.giveUp(ctx, row, ruleDisabled)
	}
	return s.deliver(ctx, row, ruleOf(rule))
}

// deliver makes the letter, takes a slot, sends and marks.
func (s *Service) deliver(ctx context.Context, row mailsql.PostbusMail, rule Rule) error {
	event, err := s.bus.Get(ctx, row.EventID)
	if errors.Is(err, events.ErrNotFound) {
		return s.discard(ctx, row, err)
	}
	if err != nil {
		return err
	}
	out, err := s.compose(row, rule, event.Event)
	if err != nil {
		return s.discard(ctx, row, fmt.Errorf("rule %q: template: %w", rule.Name, err))
	}
	begun, err := s.begin(ctx, row.ID, rule)
	if err != nil {
		return fmt.Errorf("mail %d: %w", row.ID, err)
	}
	if begun.wait > 0 {
		return jobs.Snooze(begun.wait)
	}
	if begun.sent {
		return report(ctx, row, Sent, "it was sent before")
	}
	row.MessageID, out.MessageID = begun.messageID, begun.messageID
	answer, err := s.sender.Send(ctx, out)
	var refused *smtp.Refused
	switch {
	case err == nil:
		return s.sent(ctx, row, answer)
	case errors.As(err, &refused):
		return s.discard(ctx, row, fmt.Errorf("the mail server refused the mail: %w", err))
	}
	return s.trouble(ctx, row, begun.attempt, err)
}

// compose makes the mail. Its errors are the template's, and would come again.
func (s *Service) compose(row mailsql.PostbusMail, rule Rule, event events.Event) (smtp.Mail, error) {
	l, err := s.letter(rule, event)
	if err != nil {
		return smtp.Mail{}, err
	}
	to, err := letter.ParseAddress(row.Recipient)
	if err != nil {
		return smtp.Mail{}, err
	}
	return smtp.Mail{
		From: mail.Address{Name: s.from.Name, Address: s.from.String()}, To: mail.Address{Name: letter.Line(row.RecipientName, letter.MaxName), Address: to.String()},
		Subject: l.Subject, Text: l.Text, HTML: l.HTML, Date: time.Now(), UTF8: to.NeedsUTF8(),
	}, nil
}

// letter is what the rule says of the event.
func (s *Service) letter(rule Rule, event events.Event) (letter.Letter, error) {
	templates, err := letter.Parse(rule.Subject, rule.Text, rule.HTML)
	if err != nil {
		return letter.Letter{}, err
	}
	data, err := letter.Decode(event.Data)
	if err != nil {
		return letter.Letter{}, err
	}
	return templates.Render(letter.Fields{
		ID: event.ID, Type: event.Type, Owner: event.OwnerID, Subject: event.Subject, OccurredAt: event.OccurredAt.UTC().Format(time.RFC3339),
		Rule: rule.Name, Data: data,
	}, s.cfg.MaxBodyBytes)
}
