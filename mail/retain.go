package mail

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/mailsql"
	"github.com/postbus/postbus/jobs"
)

// failedKept is how long a failed mail keeps its event, so that its job can be retried.
const failedKept = 30 * 24 * time.Hour

// Holding answers those of the events that a mail still needs: one that is to be sent, or one that failed within the last 30 days. It
// makes Service an events.Retainer.
func (s *Service) Holding(ctx context.Context, tx pgx.Tx, eventIDs []string) ([]string, error) {
	held, err := queries(tx).HeldEvents(ctx, mailsql.HeldEventsParams{EventIds: eventIDs, GraceSeconds: failedKept.Seconds()})
	if err != nil {
		return nil, fmt.Errorf("mail: look for mails that need their event: %w", err)
	}
	return held, nil
}

// Pruned removes the events' mails.
func (s *Service) Pruned(ctx context.Context, tx pgx.Tx, eventIDs []string) error {
	if err := queries(tx).DeleteMailsOf(ctx, mailsql.DeleteMailsOfParams{EventIds: eventIDs}); err != nil {
		return fmt.Errorf("mail: remove the mails of pruned events: %w", err)
	}
	return nil
}

const (
	sweepBatch = 1000
	sweepAfter = time.Minute
	jobEnded   = "its job ended without sending it: it was cancelled, or given up"
)

// sweep finds mails that should be on their way and whose job has ended, as one that was cancelled by hand, and says so.
func (s *Service) sweep(ctx context.Context) error {
	if err := s.present(ctx); err != nil {
		return err
	}
	for after := int64(0); ; {
		rows, err := queries(s.pool).UnsettledMails(ctx, mailsql.UnsettledMailsParams{
			AfterID: after, OlderSeconds: sweepAfter.Seconds(), BatchSize: sweepBatch,
		})
		if err != nil {
			return fmt.Errorf("mail: look for mails under way: %w", err)
		}
		if len(rows) == 0 {
			return nil
		}
		after = rows[len(rows)-1].ID
		if err := s.abandon(ctx, rows); err != nil {
			return err
		}
	}
}

func (s *Service) abandon(ctx context.Context, rows []mailsql.UnsettledMailsRow) error {
	ids := make([]jobs.JobID, len(rows))
	for i, row := range rows {
		ids[i] = jobs.JobID(deref(row.JobID))
	}
	unfinished, err := s.jobs.Inspector().Unfinished(ctx, ids)
	if err != nil {
		return fmt.Errorf("mail: look for the jobs of mails under way: %w", err)
	}
	busy := map[jobs.JobID]bool{}
	for _, id := range unfinished {
		busy[id] = true
	}
	var lost []int64
	for i, row := range rows {
		if !busy[ids[i]] {
			lost = append(lost, row.ID)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	reason := jobEnded
	if _, err := queries(s.pool).AbandonMails(ctx, mailsql.AbandonMailsParams{Ids: lost, Reason: &reason}); err != nil {
		return fmt.Errorf("mail: give up mails whose job has ended: %w", err)
	}
	return nil
}
