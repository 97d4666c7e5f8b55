package ops

import (
	"context"
	"fmt"

	"github.com/postbus/postbus/mail"
)

// MailRuleFilter selects rules.
type MailRuleFilter struct {
	OwnerID string `json:"owner_id,omitempty"`
	Enabled *bool  `json:"enabled,omitempty"`
	Paging
}

// MailRuleSpec is a new rule.
type MailRuleSpec struct {
	Name    string   `json:"name" minLength:"1" maxLength:"120"`
	OwnerID string   `json:"owner_id,omitempty" doc:"Whose events are mailed; left out for those of all owners, and by a caller who is bound to one"`
	Types   []string `json:"types" doc:"Globs: a type, a dotted prefix and .*, or *" minItems:"1" maxItems:"100"`
	To      []string `json:"to" doc:"Addresses, and data.KEY for those in the event's data" minItems:"1" maxItems:"50"`
	Subject string   `json:"subject" doc:"A template, for instance: Order {{.Subject}} was paid" minLength:"1" maxLength:"1024"`
	Text    string   `json:"text" doc:"A template of the plain body" minLength:"1" maxLength:"65536"`
	HTML    string   `json:"html,omitempty" doc:"A template of the HTML body; none when left out" maxLength:"65536"`
	Burst   int      `json:"burst,omitempty" doc:"Mails in one window; 1,000 when left out" minimum:"0" maximum:"1000000"`
	Enabled *bool    `json:"enabled,omitempty" doc:"true when left out"`
}

// MailRulePatch changes a rule.
type MailRulePatch struct {
	MailRuleID
	Name    *string   `json:"name,omitempty" minLength:"1" maxLength:"120"`
	Types   *[]string `json:"types,omitempty" minItems:"1" maxItems:"100"`
	To      *[]string `json:"to,omitempty" minItems:"1" maxItems:"50"`
	Subject *string   `json:"subject,omitempty" minLength:"1" maxLength:"1024"`
	Text    *string   `json:"text,omitempty" minLength:"1" maxLength:"65536"`
	HTML    *string   `json:"html,omitempty" maxLength:"65536"`
	Burst   *int      `json:"burst,omitempty" minimum:"1" maximum:"1000000"`
	Enabled *bool     `json:"enabled,omitempty" doc:"false gives up what waits"`
}

func declareMailRules(r *Registry) error {
	return firstError(
		add(r, Op[MailRuleFilter, Listed[MailRule]]{
			Name: "mail.rules", Summary: "List the rules by which events are mailed", Access: Read, Run: listMailRules,
		}),
		add(r, Op[MailRuleID, MailRule]{
			Name: "mail.rule", Summary: "Show one rule", Access: Read,
			Run: func(ctx context.Context, c *Call, in MailRuleID) (MailRule, error) {
				_, rule, err := c.mailRule(ctx, in.ID)
				if err != nil {
					return MailRule{}, err
				}
				return mailRuleOf(rule), nil
			},
		}),
		add(r, Op[MailRuleSpec, MailRule]{
			Name: "mail.create_rule", Summary: "Make a rule: from now on the events that it matches are mailed", Access: Act, Run: createMailRule,
		}),
		add(r, Op[MailRulePatch, MailRule]{
			Name: "mail.update_rule", Summary: "Change what is given of a rule; mails that wait are sent as it then says", Access: Act, Idempotent: true,
			Run: updateMailRule,
		}),
		add(r, Op[MailRuleID, DoneOf]{
			Name: "mail.delete_rule", Summary: "Delete a rule and give up its mails that wait", Access: Act, Destructive: true,
			Preview: previewMailRule,
			Run: func(ctx context.Context, c *Call, in MailRuleID) (DoneOf, error) {
				mails, rule, err := c.mailRule(ctx, in.ID)
				if err != nil {
					return DoneOf{}, err
				}
				return DoneOf{Done: Done{Done: true}, owner: rule.OwnerID}, mails.DeleteRule(ctx, in.ID)
			},
		}),
	)
}

func listMailRules(ctx context.Context, c *Call, in MailRuleFilter) (Listed[MailRule], error) {
	mails, err := c.mails()
	if err != nil {
		return Listed[MailRule]{}, err
	}
	owner, err := c.OwnerOr(in.OwnerID)
	if err != nil {
		return Listed[MailRule]{}, err
	}
	page, err := mails.Rules(ctx, mail.RuleFilter{OwnerID: owner, Enabled: in.Enabled, Cursor: in.Cursor, Limit: in.Limit})
	return listed(page.Rules, page.Next, mailRuleOf), err
}

func createMailRule(ctx context.Context, c *Call, in MailRuleSpec) (MailRule, error) {
	mails, err := c.mails()
	if err != nil {
		return MailRule{}, err
	}
	owner, err := c.OwnerOr(in.OwnerID)
	if err != nil {
		return MailRule{}, err
	}
	rule, err := mails.CreateRule(ctx, mail.RuleSpec{
		Name: in.Name, OwnerID: owner, Types: in.Types, To: in.To, Subject: in.Subject, Text: in.Text, HTML: in.HTML, Burst: in.Burst,
		Disabled: in.Enabled != nil && !*in.Enabled,
	})
	return mailRuleOf(rule), err
}

func updateMailRule(ctx context.Context, c *Call, in MailRulePatch) (MailRule, error) {
	mails, _, err := c.mailRule(ctx, in.ID)
	if err != nil {
		return MailRule{}, err
	}
	patch := mail.RulePatch{Name: in.Name, Types: in.Types, To: in.To, Subject: in.Subject, Text: in.Text, HTML: in.HTML, Burst: in.Burst}
	if in.Enabled != nil {
		off := !*in.Enabled
		patch.Disabled = &off
	}
	rule, err := mails.UpdateRule(ctx, in.ID, patch)
	return mailRuleOf(rule), err
}

func previewMailRule(ctx context.Context, c *Call, in MailRuleID) (Preview, error) {
	mails, rule, err := c.mailRule(ctx, in.ID)
	if err != nil {
		return Preview{}, err
	}
	page, err := mails.Mails(ctx, mail.MailFilter{RuleID: in.ID, States: []mail.State{mail.Sending}, Limit: 200})
	return Preview{
		Would: fmt.Sprintf("delete the rule %q and give up its mails that wait, for good", rule.Name), Count: int64(len(page.Mails)), About: page.Next != "",
	}, err
}
