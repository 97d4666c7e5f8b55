package ops

import (
	"context"
	"encoding/json"

	"github.com/postbus/postbus/mail"
)

// MailID names one mail.
type MailID struct {
	ID string `json:"id" doc:"The mail's id" minLength:"1" maxLength:"40"`
}

// MailFilter selects mails.
type MailFilter struct {
	OwnerID   string   `json:"owner_id,omitempty"`
	RuleID    string   `json:"rule_id,omitempty" maxLength:"40"`
	EventID   string   `json:"event_id,omitempty" maxLength:"40"`
	Recipient string   `json:"recipient,omitempty" maxLength:"1024"`
	States    []string `json:"states,omitempty" enum:"sending,sent,failed" maxItems:"3"`
	Paging
}

// MailTest is a test of a rule.
type MailTest struct {
	MailRuleID
	To   string `json:"to" doc:"Who gets it: an address, alone or with a name" format:"email" minLength:"1" maxLength:"320"`
	Data object `json:"data,omitempty" doc:"A JSON object that the templates read; {} when left out"`
}

func declareMailActs(r *Registry) error {
	return add(r, Op[MailTest, Mail]{
		Name: "mail.send_test", Summary: "Mail a test by one rule to one address", Access: Act,
		Run: func(ctx context.Context, c *Call, in MailTest) (Mail, error) {
			mails, _, err := c.mailRule(ctx, in.ID)
			if err != nil {
				return Mail{}, err
			}
			sent, err := mails.SendTest(ctx, in.ID, in.To, json.RawMessage(in.Data))
			return sentOf(sent), err
		},
	})
}

func declareMails(r *Registry) error {
	return firstError(
		add(r, Op[MailFilter, Listed[Mail]]{
			Name: "mail.mails", Summary: "List mails, newest first: what is being sent, was sent, failed", Access: Read, Run: listMails,
		}),
		add(r, Op[MailID, Mail]{
			Name: "mail.mail", Summary: "Show one mail", Access: Read,
			Run: func(ctx context.Context, c *Call, in MailID) (Mail, error) {
				mails, err := c.mails()
				if err != nil {
					return Mail{}, err
				}
				found, err := mails.Mail(ctx, in.ID)
				if err != nil {
					return Mail{}, hidden(err, "mail", in.ID)
				}
				if err := c.Mine(found.OwnerID, "mail", in.ID); err != nil {
					return Mail{}, err
				}
				return sentOf(found), nil
			},
		}),
	)
}

func listMails(ctx context.Context, c *Call, in MailFilter) (Listed[Mail], error) {
	mails, err := c.mails()
	if err != nil {
		return Listed[Mail]{}, err
	}
	owner, err := c.OwnerOr(in.OwnerID)
	if err != nil {
		return Listed[Mail]{}, err
	}
	filter := mail.MailFilter{
		OwnerID: owner, RuleID: in.RuleID, EventID: in.EventID, Recipient: in.Recipient, Cursor: in.Cursor, Limit: in.Limit,
	}
	for _, state := range in.States {
		filter.States = append(filter.States, mail.State(state))
	}
	page, err := mails.Mails(ctx, filter)
	return listed(page.Mails, page.Next, sentOf), err
}
