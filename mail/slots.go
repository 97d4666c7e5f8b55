package mail

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/mailsql"
	"github.com/postbus/postbus/pg"
)

// Scopes of slots.
const (
	recipientScope = "recipient"
	ruleScope      = "rule"
)

// begun is where a mail stands before it is sent.
type begun struct {
	wait    time.Duration // until its window opens; 0 to send now
	sent    bool          // another attempt sent it meanwhile
	attempt int
	// messageID is the same for all attempts.
	messageID string
}

// begin takes the mail's slots and counts the attempt. A mail takes one slot of its rule, once. Of its recipient it takes one for each
// window in which it is tried: a slot that was taken by an attempt that failed is not given back, for after a failure nobody knows
// whether the mail has arrived. Such a mail takes another slot when it is tried in a later window, and none for a second attempt in the
// same one. So a recipient never gets more than the cap, and what a failure costs is time.
func (s *Service) begin(ctx context.Context, id int64, rule Rule) (b begun, err error) {
	err = pg.InShortTx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		row, err := queries(tx).LockMail(ctx, mailsql.LockMailParams{ID: id, WindowSeconds: s.cfg.Window.Seconds()})
		if err != nil {
			return fmt.Errorf("lock it: %w", err)
		}
		if b.sent = row.PostbusMail.State == string(Sent); b.sent {
			return nil
		}
		if b.wait, err = s.slots(ctx, tx, row, rule); err != nil || b.wait > 0 {
			return err
		}
		attempt, err := queries(tx).BeginAttempt(ctx, mailsql.BeginAttemptParams{ID: id, Host: s.from.Domain})
		b.attempt, b.messageID = int(attempt.Attempts), attempt.MessageID
		return err
	})
	return b, err
}

// slots answers how long the mail has to wait.
func (s *Service) slots(ctx context.Context, tx pgx.Tx, row mailsql.LockMailRow, rule Rule) (time.Duration, error) {
	m, q := row.PostbusMail, queries(tx)
	if m.RuleSlotAt == nil {
		slot, err := s.take(ctx, tx, ruleScope, m.RuleID, rule.Burst)
		if err != nil {
			return 0, err
		}
		if err := q.SetRuleSlot(ctx, mailsql.SetRuleSlotParams{ID: m.ID, SlotAt: &slot.OpensAt}); err != nil {
			return 0, err
		}
		row.RuleWaitSeconds = slot.WaitSeconds
	}
	if wait := seconds(row.RuleWaitSeconds); wait > 0 {
		return wait, nil
	}
	if row.NeedsSlot {
		slot, err := s.take(ctx, tx, recipientScope, strings.ToLower(m.Recipient), s.cfg.RecipientCap)
		if err != nil {
			return 0, err
		}
		if err := q.SetSlot(ctx, mailsql.SetSlotParams{ID: m.ID, SlotAt: &slot.OpensAt}); err != nil {
			return 0, err
		}
		row.WaitSeconds = slot.WaitSeconds
	}
	return seconds(row.WaitSeconds), nil
}

func (s *Service) take(ctx context.Context, tx pgx.Tx, scope, key string, slots int) (mailsql.TakeSlotRow, error) {
	slot, err := queries(tx).TakeSlot(ctx, mailsql.TakeSlotParams{
		Scope: scope, Key: key, Slots: int32(slots), WindowSeconds: s.cfg.Window.Seconds(),
	})
	if err != nil {
		return slot, fmt.Errorf("take a slot of the %s: %w", scope, err)
	}
	return slot, nil
}

// seconds is a wait, 0 where it is over.
func seconds(s float64) time.Duration { return max(0, time.Duration(s*float64(time.Second))) }

// pruneSlots forgets windows that are long over.
func (s *Service) pruneSlots(ctx context.Context) error {
	for {
		n, err := queries(s.pool).PruneSlots(ctx, mailsql.PruneSlotsParams{WindowSeconds: s.cfg.Window.Seconds()})
		if err != nil {
			return fmt.Errorf("mail: forget old slots: %w", err)
		}
		if n == 0 {
			return nil
		}
	}
}
