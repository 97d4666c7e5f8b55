package events

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
)

// alertsKept is how long a cleared alert stays in the history.
const alertsKept = 30 * 24 * time.Hour

// AlertRecord is an alert that was told of.
type AlertRecord struct {
	// ID orders them by when they were raised.
	ID string
	// OwnerID is whose events told of it.
	OwnerID string
	AlertNotice
	// SeenAt is when it was last found.
	SeenAt time.Time
}

// AlertsRaisedAt answers since when what stands is known to stand, by the alert's name. An alert that is younger than the last
// look is missing.
func (b *Bus) AlertsRaisedAt(ctx context.Context) (map[string]time.Time, error) {
	rows, err := queries(b.pool).AlertsRaisedAt(ctx)
	if err != nil {
		return nil, fmt.Errorf("read when alerts were raised: %w", err)
	}
	raised := make(map[string]time.Time, len(rows))
	for _, row := range rows {
		raised[row.Name] = row.RaisedAt.UTC()
	}
	return raised, nil
}

// AlertHistory answers at most limit alerts that were told of, of all owners, the newest first, from the one before the id on;
// "" begins at the newest. Cleared ones stay for 30 days.
func (b *Bus) AlertHistory(ctx context.Context, before string, limit int) ([]AlertRecord, error) {
	params := eventsql.ListAlertsParams{PageSize: int32(limit)}
	if before != "" {
		id, err := strconv.ParseInt(before, 10, 64)
		if err != nil || id < 1 {
			return nil, fmt.Errorf("%w: %q is no alert's id", ErrInvalid, before)
		}
		params.Before = id
	}
	rows, err := queries(b.pool).ListAlerts(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("read the history of alerts: %w", err)
	}
	records := make([]AlertRecord, len(rows))
	for i, row := range rows {
		records[i] = AlertRecord{
			ID: strconv.FormatInt(row.ID, 10), OwnerID: row.OwnerID, SeenAt: row.SeenAt.UTC(),
			AlertNotice: AlertNotice{
				Name: row.Name, About: row.About, Count: row.Count, Message: row.Message, WayOut: row.WayOut, RaisedAt: row.RaisedAt.UTC(),
			},
		}
		if row.ClearedAt != nil {
			cleared := row.ClearedAt.UTC()
			records[i].ClearedAt = &cleared
		}
	}
	return records, nil
}
