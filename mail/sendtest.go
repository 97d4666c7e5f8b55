package mail

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/mailsql"
)

// testOwner owns the tests of rules for all owners.
const testOwner = "postbus"

// SendTest records an event of the type mail.test with the data, whose subject is the rule's id, and mails it by this rule, and no
// other, to one address, though the rule be disabled. data is a JSON object, {} where it is nil. A template that fails on them is
// refused at once.
func (s *Service) SendTest(ctx context.Context, ruleID, to string, data json.RawMessage) (Mail, error) {
	r := recipientOf(to)
	if r.refused != "" {
		return Mail{}, fmt.Errorf("send a test: %w: to: %s", ErrInvalid, r.refused)
	}
	if data == nil {
		data = json.RawMessage("{}")
	}
	if trimmed := bytes.TrimSpace(data); !json.Valid(data) || trimmed[0] != '{' {
		return Mail{}, fmt.Errorf("send a test: %w: data is no JSON object", ErrInvalid)
	}
	var sent Mail
	err := s.within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rule, err := s.With(tx).Rule(ctx, ruleID)
		if err != nil {
			return err
		}
		id, err := s.bus.RecordReturning(ctx, tx, cmp.Or(rule.OwnerID, testOwner), Test, rule.ID, data)
		if err != nil {
			return err
		}
		event, err := s.bus.Read(ctx, tx, id)
		if err != nil {
			return err
		}
		if _, err := s.letter(rule, event.Event); err != nil {
			return fmt.Errorf("%w: template: %w", ErrInvalid, err)
		}
		batch := batchOf(event.Event)
		batch.Test = true
		add(&batch, rule.ID, rule.Name, []recipient{r})
		sent, err = s.postTest(ctx, tx, batch)
		return err
	})
	if err != nil {
		return Mail{}, fmt.Errorf("send a test: %w", err)
	}
	return sent, nil
}

func (s *Service) postTest(ctx context.Context, tx pgx.Tx, batch mailsql.InsertMailsParams) (Mail, error) {
	ids, err := s.post(ctx, tx, batch)
	if err != nil {
		return Mail{}, err
	}
	if len(ids) != 1 {
		return Mail{}, errors.New("the test made no mail")
	}
	row, err := queries(tx).MailByID(ctx, mailsql.MailByIDParams{ID: ids[0]})
	return mailOf(row), err
}
