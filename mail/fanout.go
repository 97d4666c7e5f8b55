package mail

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/dbsqlc/mailsql"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/mail/internal/letter"
	"github.com/postbus/postbus/pg"
)

// notifyArgs are all that a job of owner.notify carries; what is sent is made when it runs.
type notifyArgs struct {
	MailID  string `json:"mail_id"`
	RuleID  string `json:"rule_id"`
	EventID string `json:"event_id"`
}

// fanOut handles mail.rules: one mail and one job for each recipient of each rule that takes the event, in one transaction. A second
// run adds nothing.
func (s *Service) fanOut(ctx context.Context, event events.Event) error {
	rules, err := queries(s.pool).RulesFor(ctx, mailsql.RulesForParams{OwnerID: event.OwnerID})
	if err != nil {
		return fmt.Errorf("read the mail rules of owner %q: %w", event.OwnerID, err)
	}
	data, err := letter.Decode(event.Data)
	if err != nil {
		return jobs.Discard(err)
	}
	batch := batchOf(event)
	for _, rule := range rules {
		if (RuleSpec{Types: rule.Types}).matches(event.Type) {
			add(&batch, rule.ID, rule.Name, recipients(rule.Recipients, data))
		}
	}
	made := 0
	if len(batch.RuleIds) > 0 {
		err = pg.InShortTx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
			ids, err := s.post(ctx, tx, batch)
			made = len(ids)
			return err
		})
	}
	if errors.Is(err, events.ErrNotFound) {
		return jobs.Discard(err)
	}
	if err != nil {
		return fmt.Errorf("make the mails of event %s: %w", event.ID, err)
	}
	return jobs.SetResult(ctx, struct {
		Mails int `json:"mails"`
	}{made})
}

// batchOf are no mails of the event yet.
func batchOf(event events.Event) mailsql.InsertMailsParams {
	return mailsql.InsertMailsParams{EventID: event.ID, EventType: event.Type, OwnerID: event.OwnerID}
}

func add(batch *mailsql.InsertMailsParams, ruleID, ruleName string, to []recipient) {
	for _, r := range to {
		batch.RuleIds, batch.RuleNames = append(batch.RuleIds, ruleID), append(batch.RuleNames, ruleName)
		batch.Recipients, batch.RecipientNames = append(batch.Recipients, r.address), append(batch.RecipientNames, r.name)
		batch.Reasons = append(batch.Reasons, r.refused)
	}
}

// post writes the mails that are not there yet, and their jobs.
func (s *Service) post(ctx context.Context, tx pgx.Tx, batch mailsql.InsertMailsParams) (ids []int64, err error) {
	if _, err := s.bus.Hold(ctx, tx, batch.EventID); err != nil { // from now on the mails need it
		return nil, err
	}
	made, err := queries(tx).InsertMails(ctx, batch)
	if err != nil || len(made) == 0 {
		return nil, err
	}
	params := make([]jobs.EnqueueParams, len(made))
	for i, row := range made {
		ids = append(ids, row.ID)
		params[i] = jobs.EnqueueParams{
			Kind: Notify, Args: notifyArgs{MailID: strconv.FormatInt(row.ID, 10), RuleID: row.RuleID, EventID: batch.EventID},
			Opts: jobs.EnqueueOpts{Owner: batch.OwnerID, UniqueByArgs: true, Queue: NotifyQueue, MaxAttempts: notifyAttempts},
		}
	}
	enqueued, err := s.jobs.With(tx).EnqueueMany(ctx, params)
	if err != nil {
		return nil, err
	}
	jobIDs := make([]string, len(enqueued))
	for i, id := range enqueued {
		jobIDs[i] = string(id)
	}
	return ids, queries(tx).SetMailJobs(ctx, mailsql.SetMailJobsParams{Ids: ids, JobIds: jobIDs})
}
