package ops

import (
	"context"
	"time"

	"github.com/postbus/postbus/mail"
)

// MailRule says which events are mailed to whom, and how the mail reads.
type MailRule struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	App       string    `json:"app,omitempty" doc:"The application whose Config declares it, where alone it can be changed"`
	OwnerID   string    `json:"owner_id" doc:"Whose events are mailed; empty for those of all owners"`
	Types     []string  `json:"types" doc:"Globs over event types"`
	To        []string  `json:"to" doc:"Addresses, and data.KEY for those in the event's data"`
	Subject   string    `json:"subject" doc:"A template"`
	Text      string    `json:"text" doc:"A template" maxLength:"65536"`
	HTML      string    `json:"html,omitempty" doc:"A template" maxLength:"65536"`
	Burst     int       `json:"burst" doc:"Mails in one window"`
	Enabled   bool      `json:"enabled"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// AuditOwner makes an act on the rule a line of its owner's.
func (r MailRule) AuditOwner() string { return r.OwnerID }

// MailRuleID names one rule.
type MailRuleID struct {
	ID string `json:"id" doc:"The rule's id" minLength:"1" maxLength:"40"`
}

// Mail is one event for one recipient.
type Mail struct {
	ID        string     `json:"id"`
	RuleID    string     `json:"rule_id"`
	RuleName  string     `json:"rule_name"`
	Test      bool       `json:"test,omitempty" doc:"It was asked for by hand"`
	EventID   string     `json:"event_id"`
	EventType string     `json:"event_type"`
	OwnerID   string     `json:"owner_id" doc:"Whose the event is"`
	Recipient string     `json:"recipient" doc:"The address, or what was given for one and refused"`
	MessageID string     `json:"message_id,omitempty" doc:"The header's value, the same over all attempts"`
	State     string     `json:"state" enum:"sending,sent,failed"`
	Reason    string     `json:"reason,omitempty" doc:"Why it failed, or how its last attempt did"`
	Attempts  int        `json:"attempts"`
	NotBefore *time.Time `json:"not_before,omitempty" doc:"When the window opens for which it waits"`
	JobID     string     `json:"job_id,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	SettledAt *time.Time `json:"settled_at,omitempty"`
}

// AuditOwner makes an act on the mail a line of its owner's.
func (m Mail) AuditOwner() string { return m.OwnerID }

func declareMail(r *Registry) error {
	return firstError(declareMailRules(r), declareMailActs(r), declareMails(r))
}

// mails is the mail of the call's transaction.
func (c *Call) mails() (*mail.Service, error) {
	switch {
	case c.Mail == nil:
		return nil, newError(Conflict, "mail is not turned on in this process: set Config.Mail, or ask a process that has it")
	case c.Tx != nil:
		return c.Mail.With(c.Tx), nil
	}
	return c.Mail, nil
}

// mailRule answers a rule that the caller may see, and the mail to act with.
func (c *Call) mailRule(ctx context.Context, id string) (*mail.Service, mail.Rule, error) {
	mails, err := c.mails()
	if err != nil {
		return nil, mail.Rule{}, err
	}
	rule, err := mails.Rule(ctx, id)
	if err != nil {
		return nil, mail.Rule{}, hidden(err, "rule", id)
	}
	return mails, rule, c.Mine(rule.OwnerID, "rule", id)
}

func mailRuleOf(r mail.Rule) MailRule {
	return MailRule{
		ID: r.ID, Name: r.Name, App: r.App, OwnerID: r.OwnerID, Types: r.Types, To: r.To, Subject: r.Subject, Text: r.Text, HTML: r.HTML,
		Burst: r.Burst, Enabled: !r.Disabled, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

func sentOf(m mail.Mail) Mail {
	return Mail{
		ID: m.ID, RuleID: m.RuleID, RuleName: m.RuleName, Test: m.Test, EventID: m.EventID, EventType: m.EventType, OwnerID: m.OwnerID,
		Recipient: m.Recipient, MessageID: m.MessageID, State: string(m.State), Reason: m.Reason, Attempts: m.Attempts,
		NotBefore: m.NotBefore, JobID: string(m.JobID), CreatedAt: m.CreatedAt, SettledAt: m.SettledAt,
	}
}
