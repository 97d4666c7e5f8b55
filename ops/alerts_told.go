package ops

import (
	"context"
	"strconv"
	"time"

	"github.com/postbus/postbus/events"
)

// AlertRecord is an alert that was told of by an event.
type AlertRecord struct {
	ID        string     `json:"id"`
	OwnerID   string     `json:"owner_id" doc:"Whose events told of it"`
	Name      string     `json:"name"`
	About     string     `json:"about,omitempty" doc:"The kind or endpoint that it is about; left out where it is about the whole"`
	Count     int64      `json:"count" doc:"Of all that the alert is about, when it was last seen"`
	Message   string     `json:"message" maxLength:"1048576"`
	WayOut    string     `json:"way_out"`
	RaisedAt  time.Time  `json:"raised_at"`
	SeenAt    time.Time  `json:"seen_at" doc:"When it was last seen to stand"`
	ClearedAt *time.Time `json:"cleared_at,omitempty" doc:"Left out while it stands"`
}

func listAlerts(ctx context.Context, c *Call, in Paging) (Listed[Alert], error) {
	all, err := c.Alerts(ctx)
	if err != nil {
		return Listed[Alert]{}, err
	}
	raised, err := c.Events.AlertsRaisedAt(ctx)
	if err != nil {
		return Listed[Alert]{}, err
	}
	convert := func(a events.Alert) Alert {
		out := Alert{Name: a.Name, Count: a.Count, Message: a.Message, WayOut: a.WayOut, About: a.About}
		if at, ok := raised[a.Name]; ok {
			out.RaisedAt = &at
		}
		return out
	}
	return cut(listed(all, "", convert).Items, "alert", in, func(a Alert) string { return a.Name })
}

func listAlertHistory(ctx context.Context, c *Call, in Paging) (Listed[AlertRecord], error) {
	before, err := openCursor("alert_history", in.Cursor)
	if err != nil {
		return Listed[AlertRecord]{}, err
	}
	if id, err := strconv.ParseInt(before, 10, 64); before != "" && (err != nil || id < 1) {
		return Listed[AlertRecord]{}, badCursor()
	}
	size, next := pageSize(in), ""
	rows, err := c.Events.AlertHistory(ctx, before, size+1)
	if err != nil {
		return Listed[AlertRecord]{}, err
	}
	if len(rows) > size {
		rows = rows[:size]
		next = sealCursor("alert_history", rows[size-1].ID)
	}
	return listed(rows, next, func(r events.AlertRecord) AlertRecord {
		return AlertRecord{
			ID: r.ID, OwnerID: r.OwnerID, Name: r.Name, About: r.About, Count: r.Count, Message: r.Message, WayOut: r.WayOut,
			RaisedAt: r.RaisedAt, SeenAt: r.SeenAt, ClearedAt: r.ClearedAt,
		}
	}), nil
}
