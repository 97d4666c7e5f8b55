package mail

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/mailsql"
	"github.com/postbus/postbus/pg"
)

// CreateRule makes a rule. From the commit on the events that it matches are mailed.
func (s *Service) CreateRule(ctx context.Context, spec RuleSpec) (Rule, error) {
	spec, err := spec.check()
	if err != nil {
		return Rule{}, fmt.Errorf("create rule: %w", err)
	}
	var rule Rule
	err = s.within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		n, err := queries(tx).CountRules(ctx, mailsql.CountRulesParams{OwnerID: spec.OwnerID})
		if err != nil {
			return err
		}
		if n >= maxPerOwner {
			return fmt.Errorf("%w: owner %q has %d rules, the limit is %d: delete some", ErrConflict, spec.OwnerID, n, maxPerOwner)
		}
		row, err := queries(tx).InsertRule(ctx, mailsql.InsertRuleParams{
			Name: spec.Name, OwnerID: spec.OwnerID, Types: spec.Types, Recipients: spec.To, Subject: spec.Subject, TextBody: spec.Text,
			HtmlBody: spec.HTML, Burst: int32(spec.Burst), Enabled: !spec.Disabled,
		})
		rule = ruleOf(row)
		return refusal(err)
	})
	if err != nil {
		return Rule{}, fmt.Errorf("create rule: %w", err)
	}
	return rule, nil
}

// Rule answers one rule.
func (s *Service) Rule(ctx context.Context, id string) (Rule, error) {
	if !isUUID(id) {
		return Rule{}, noRule(id)
	}
	row, err := queries(s.db()).RuleByID(ctx, mailsql.RuleByIDParams{ID: id})
	if errors.Is(err, pgx.ErrNoRows) {
		return Rule{}, noRule(id)
	}
	if err != nil {
		return Rule{}, fmt.Errorf("read rule %s: %w", id, err)
	}
	return ruleOf(row), nil
}

// RuleFilter selects rules. Zero fields do not select.
type RuleFilter struct {
	OwnerID string
	Enabled *bool
	Cursor  string // RulePage.Next of the page before
	Limit   int    // default 50, at most 200
}

// RulePage is one page of rules by id. Next is "" on the last one.
type RulePage struct {
	Rules []Rule
	Next  string
}

// Rules answers a page of rules.
func (s *Service) Rules(ctx context.Context, f RuleFilter) (RulePage, error) {
	limit, err := pageSize(f.Limit)
	if err != nil {
		return RulePage{}, err
	}
	after, err := keyOf("rule", f.Cursor)
	if err != nil || after != "" && !isUUID(after) {
		return RulePage{}, badCursor(f.Cursor)
	}
	rows, err := queries(s.db()).ListRules(ctx, mailsql.ListRulesParams{
		After: nullable(after), OwnerID: f.OwnerID, OnlyEnabled: f.Enabled, PageSize: int32(limit) + 1,
	})
	if err != nil {
		return RulePage{}, fmt.Errorf("list rules: %w", err)
	}
	var page RulePage
	if len(rows) > limit {
		rows = rows[:limit]
		page.Next = cursorOf("rule", rows[limit-1].ID)
	}
	page.Rules = make([]Rule, len(rows))
	for i, row := range rows {
		page.Rules[i] = ruleOf(row)
	}
	return page, nil
}

// UpdateRule changes a rule. Mails that wait are sent as it then says. A rule that a Config declares is changed there.
func (s *Service) UpdateRule(ctx context.Context, id string, patch RulePatch) (Rule, error) {
	var rule Rule
	err := s.onRule(ctx, id, func(ctx context.Context, tx pgx.Tx, row mailsql.PostbusMailRule) error {
		spec, err := patch.of(ruleOf(row).RuleSpec).check()
		if err != nil {
			return err
		}
		row, err = queries(tx).UpdateRule(ctx, mailsql.UpdateRuleParams{
			ID: row.ID, Name: spec.Name, Types: spec.Types, Recipients: spec.To, Subject: spec.Subject, TextBody: spec.Text,
			HtmlBody: spec.HTML, Burst: int32(spec.Burst), Enabled: !spec.Disabled,
		})
		rule = ruleOf(row)
		return refusal(err)
	})
	if err != nil {
		return Rule{}, fmt.Errorf("update rule %s: %w", id, err)
	}
	return rule, nil
}

// DeleteRule removes a rule. Mails that wait are given up as their jobs run; what was sent stays on record.
func (s *Service) DeleteRule(ctx context.Context, id string) error {
	err := s.onRule(ctx, id, func(ctx context.Context, tx pgx.Tx, row mailsql.PostbusMailRule) error {
		_, err := queries(tx).DeleteRule(ctx, mailsql.DeleteRuleParams{ID: row.ID})
		return err
	})
	if err != nil {
		return fmt.Errorf("delete rule %s: %w", id, err)
	}
	return nil
}

// onRule does it in a transaction that holds the rule's row.
func (s *Service) onRule(ctx context.Context, id string, do func(ctx context.Context, tx pgx.Tx, row mailsql.PostbusMailRule) error) error {
	if !isUUID(id) {
		return noRule(id)
	}
	return s.within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if err := queries(tx).Resubscribe(ctx); err != nil { // takes the lock of the rules before that of this one, as every change does
			return err
		}
		row, err := queries(tx).LockRule(ctx, mailsql.LockRuleParams{ID: id})
		if errors.Is(err, pgx.ErrNoRows) {
			return noRule(id)
		}
		if err != nil {
			return err
		}
		if row.App != "" {
			return fmt.Errorf("%w: the rule %q is declared by the application %s: change it in its Config.Mail.Rules", ErrConflict, row.Name, row.App)
		}
		return do(ctx, tx, row)
	})
}

func (p RulePatch) of(spec RuleSpec) RuleSpec {
	orElse(&spec.Name, p.Name)
	orElse(&spec.Types, p.Types)
	orElse(&spec.To, p.To)
	orElse(&spec.Subject, p.Subject)
	orElse(&spec.Text, p.Text)
	orElse(&spec.HTML, p.HTML)
	orElse(&spec.Burst, p.Burst)
	orElse(&spec.Disabled, p.Disabled)
	return spec
}

func ruleOf(row mailsql.PostbusMailRule) Rule {
	return Rule{
		ID: row.ID, App: row.App, CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(),
		RuleSpec: RuleSpec{
			Name: row.Name, OwnerID: row.OwnerID, Types: row.Types, To: row.Recipients, Subject: row.Subject, Text: row.TextBody,
			HTML: row.HtmlBody, Burst: int(row.Burst), Disabled: !row.Enabled,
		},
	}
}

// refusal turns what the tables refuse into ErrInvalid. The database's text, which may quote a value, is left out.
func refusal(err error) error {
	if pg.IsRowFault(err) {
		return fmt.Errorf("%w: the database refuses a value; use UTF-8 without NUL, within the limits", ErrInvalid)
	}
	return err
}
