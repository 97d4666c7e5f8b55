package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

// AttemptFilter selects the attempts of a delivery.
type AttemptFilter struct {
	DeliveryID string
	Cursor     string // AttemptPage.Next of the page before
	Limit      int    // default 50, at most 200
}

// AttemptPage is one page of attempts, newest first. Next is "" on the last one.
type AttemptPage struct {
	Attempts []Attempt
	Next     string
}

// Attempts answers a page of a delivery's attempts. Where a receiver asks to come back later they can be very many.
func (s *Service) Attempts(ctx context.Context, f AttemptFilter) (AttemptPage, error) {
	limit, err := pageSize(f.Limit)
	if err != nil {
		return AttemptPage{}, err
	}
	before, err := numberOf("attempt", f.Cursor, 32)
	if err != nil {
		return AttemptPage{}, err
	}
	if _, err := s.Delivery(ctx, f.DeliveryID); err != nil {
		return AttemptPage{}, err
	}
	id, err := deliveryID(f.DeliveryID)
	if err != nil {
		return AttemptPage{}, err
	}
	rows, err := queries(s.db()).ListAttempts(ctx, webhooksql.ListAttemptsParams{
		DeliveryID: id, BeforeN: int32(before), PageSize: int32(limit) + 1,
	})
	if err != nil {
		return AttemptPage{}, fmt.Errorf("list the attempts of delivery %s: %w", f.DeliveryID, err)
	}
	var page AttemptPage
	if len(rows) > limit {
		rows = rows[:limit]
		page.Next = cursorOf("attempt", strconv.Itoa(int(rows[limit-1].N)))
	}
	page.Attempts = make([]Attempt, len(rows))
	for i, row := range rows {
		if page.Attempts[i], err = attemptOf(row); err != nil {
			return AttemptPage{}, err
		}
	}
	return page, nil
}

func attemptOf(row webhooksql.PostbusWebhookAttempt) (Attempt, error) {
	a := Attempt{
		DeliveryID: strconv.FormatInt(row.DeliveryID, 10), N: int(row.N), At: row.AttemptedAt.UTC(), URL: row.Url,
		Spent: row.Spent, Status: int(deref(row.Status)), Latency: time.Duration(row.LatencyMs * float64(time.Millisecond)),
		Error: deref(row.Error), Body: row.ResponseBody, Truncated: row.Truncated,
	}
	if len(row.ResponseHeaders) == 0 {
		return a, nil
	}
	if err := json.Unmarshal(row.ResponseHeaders, &a.Headers); err != nil {
		return a, fmt.Errorf("attempt %d of delivery %d: its stored headers cannot be read: %w", row.N, row.DeliveryID, err)
	}
	return a, nil
}
