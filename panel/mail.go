package panel

import (
	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/panel/internal/view"
)

// mail lists rules and mails, and shows the rule that the URL names.
func (p *Panel) mail(v *visit) (content, error) {
	if id := v.query.Get("rule"); id != "" {
		return p.mailRule(v, id)
	}
	page := view.MailPage{Query: v.query, Global: v.who.Owner == "", CanAct: v.who.May(ops.Act)}
	rules, err := do[ops.Listed[ops.MailRule]](v, "mail.rules", map[string]int{"limit": 200})
	if err != nil {
		page.Problem = p.told(v.r, err)
		return content{title: "Mail", here: "mail", body: view.Mail(page)}, nil
	}
	page.Rules, page.MoreRules = rules.Items, rules.Next != ""
	mails, err := list[ops.Mail](v, "mail.mails", "new")
	if err != nil {
		page.Problem = p.told(v.r, err)
	}
	page.Mails, page.Next = mails.Items, mails.Next
	return content{title: "Mail", here: "mail", body: view.Mail(page)}, nil
}

// mailRule shows one rule with its mails.
func (p *Panel) mailRule(v *visit, id string) (content, error) {
	rule, err := do[ops.MailRule](v, "mail.rule", map[string]string{"id": id})
	if err != nil {
		return content{}, err
	}
	page := view.MailRulePage{Rule: rule, Query: v.query, CanAct: v.who.May(ops.Act), Global: v.who.Owner == ""}
	v.query.Set("rule_id", id)
	defer v.query.Del("rule_id")
	mails, err := list[ops.Mail](v, "mail.mails", "rule")
	if err != nil {
		page.Problem = p.told(v.r, err)
	}
	page.Mails, page.Next = mails.Items, mails.Next
	return content{title: "Rule " + rule.Name, here: "mail", body: view.MailRuleDetail(page)}, nil
}
