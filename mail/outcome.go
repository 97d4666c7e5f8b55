package mail

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/mailsql"
	"github.com/postbus/postbus/jobs"
)

// markWithin bounds the mark of a mail, which is made even where the job's time is over.
const markWithin = 10 * time.Second

// outcome is the job's result.
type outcome struct {
	State     State  `json:"state"`
	To        string `json:"to"`
	MessageID string `json:"message_id,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

func report(ctx context.Context, row mailsql.PostbusMail, state State, reason string) error {
	return jobs.SetResult(ctx, outcome{State: state, To: row.Recipient, MessageID: header(row.MessageID), Reason: reason})
}

// sent marks the mail. Where that fails the job is tried again and so is the mail, under the same Message-ID.
func (s *Service) sent(ctx context.Context, row mailsql.PostbusMail, answer string) error {
	marking, cancel := context.WithTimeout(context.WithoutCancel(ctx), markWithin)
	defer cancel()
	if err := queries(s.pool).MarkSent(marking, mailsql.MarkSentParams{ID: row.ID}); err != nil {
		return fmt.Errorf("mail %d was sent, and could not be marked: %w", row.ID, err)
	}
	return report(ctx, row, Sent, answer)
}

// trouble notes why an attempt failed that may be made again.
func (s *Service) trouble(ctx context.Context, row mailsql.PostbusMail, attempt int, cause error) error {
	marking, cancel := context.WithTimeout(context.WithoutCancel(ctx), markWithin)
	defer cancel()
	reason := storable(cause.Error())
	var err error
	if attempt >= notifyAttempts && ctx.Err() == nil {
		err = queries(s.pool).MarkFailed(marking, mailsql.MarkFailedParams{ID: row.ID, Reason: &reason})
	} else {
		err = queries(s.pool).MarkTrouble(marking, mailsql.MarkTroubleParams{ID: row.ID, Reason: &reason})
	}
	if err != nil {
		s.cfg.Log.WarnContext(ctx, "a mail's failure could not be noted", "mail", row.ID, "error", err)
	}
	return fmt.Errorf("mail %d to %s: %w", row.ID, row.Recipient, cause)
}

// discard ends the mail and its job for good, with the reason, which raises an alert.
func (s *Service) discard(ctx context.Context, row mailsql.PostbusMail, cause error) error {
	reason := storable(cause.Error())
	if err := queries(s.pool).MarkFailed(ctx, mailsql.MarkFailedParams{ID: row.ID, Reason: &reason}); err != nil {
		return fmt.Errorf("mail %d: mark it as failed: %w", row.ID, err)
	}
	return jobs.Discard(fmt.Errorf("mail %d to %s: %w", row.ID, row.Recipient, cause))
}

// giveUp ends the mail for a reason that is nobody's fault: the job completes and says so.
func (s *Service) giveUp(ctx context.Context, row mailsql.PostbusMail, reason string) error {
	if err := queries(s.pool).MarkFailed(ctx, mailsql.MarkFailedParams{ID: row.ID, Reason: &reason}); err != nil {
		return fmt.Errorf("mail %d: mark it as failed: %w", row.ID, err)
	}
	return report(ctx, row, Failed, reason)
}

// storable is a text that the database takes.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", " ")
}
