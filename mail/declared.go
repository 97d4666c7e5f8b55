package mail

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/mailsql"
)

// checkDeclared refuses rules that Start could not write.
func checkDeclared(cfg Config) error {
	seen := map[string]bool{}
	for i, spec := range cfg.Rules {
		if _, err := spec.check(); err != nil {
			return fmt.Errorf("mail: Rules[%d] %q: %w", i, spec.Name, err)
		}
		if seen[spec.Name] {
			return fmt.Errorf("%w: mail: Rules[%d]: a rule %q is declared twice", ErrInvalid, i, spec.Name)
		}
		seen[spec.Name] = true
	}
	if len(cfg.Rules) > 0 && cfg.App == "" {
		return fmt.Errorf("%w: mail: Rules need App, the application that declares them", ErrInvalid)
	}
	return nil
}

// declare writes the application's rules and removes those that it declares no longer. While two versions of an application run side by
// side, those of the one that started last stand. It also brings the subscription back, should somebody have retired it while mail was
// off.
func (s *Service) declare(ctx context.Context) error {
	err := s.within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		q := queries(tx)
		if err := q.Resubscribe(ctx); err != nil {
			return err
		}
		names := []string{}
		for _, spec := range s.cfg.Rules {
			spec, err := spec.check()
			if err != nil {
				return err
			}
			names = append(names, spec.Name)
			if err := q.DeclareRule(ctx, mailsql.DeclareRuleParams{
				App: s.cfg.App, Name: spec.Name, OwnerID: spec.OwnerID, Types: spec.Types, Recipients: spec.To, Subject: spec.Subject,
				TextBody: spec.Text, HtmlBody: spec.HTML, Burst: int32(spec.Burst), Enabled: !spec.Disabled,
			}); err != nil {
				return refusal(err)
			}
		}
		_, err := q.ForgetDeclaredRules(ctx, mailsql.ForgetDeclaredRulesParams{App: s.cfg.App, Names: names})
		return err
	})
	if err != nil {
		return fmt.Errorf("mail: write the declared rules: %w", err)
	}
	return nil
}
