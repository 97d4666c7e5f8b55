package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

// Names of alerts.
const (
	AlertDiscarded = "webhook_deliveries_discarded"
	AlertDisabled  = "webhook_endpoints_disabled"
	AlertFailing   = "webhook_endpoints_failing"
)

const (
	countCap   = 2000
	failingFor = time.Hour
)

// AlertSource has Alerts told of by events.
func (s *Service) AlertSource() events.AlertSource {
	return events.AlertSource{Names: []string{AlertDiscarded, AlertDisabled, AlertFailing}, Look: s.Alerts}
}

// Alerts answers what stands now, read from the tables. About has the ids of at most 20 endpoints.
func (s *Service) Alerts(ctx context.Context) ([]events.Alert, error) {
	var alerts []events.Alert
	for _, look := range []func(context.Context) (*events.Alert, error){s.discardedAlert, s.disabledAlert, s.failingAlert} {
		alert, err := look(ctx)
		if err != nil {
			return nil, fmt.Errorf("webhooks: read alerts: %w", err)
		}
		if alert != nil {
			alerts = append(alerts, *alert)
		}
	}
	return alerts, nil
}

func (s *Service) discardedAlert(ctx context.Context) (*events.Alert, error) {
	q := queries(s.db())
	n, err := q.CountUnacknowledged(ctx, webhooksql.CountUnacknowledgedParams{Cap: countCap})
	if err != nil || n == 0 {
		return nil, err
	}
	ids, err := q.UnacknowledgedEndpoints(ctx)
	if err != nil {
		return nil, err
	}
	return &events.Alert{
		Name: AlertDiscarded, Count: n, About: ids,
		Message: fmt.Sprintf("%d webhook deliveries were given up", n),
		WayOut:  "Read their reasons and attempts, see to the receiver, then redeliver or acknowledge them.",
	}, nil
}

func (s *Service) disabledAlert(ctx context.Context) (*events.Alert, error) {
	rows, err := queries(s.db()).DisabledEndpoints(ctx)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	alert := events.Alert{
		Name: AlertDisabled, Count: rows[0].Total,
		Message: fmt.Sprintf("%d webhook endpoints were disabled because their receivers are gone or kept failing", rows[0].Total),
		WayOut:  "Ask the owner to see to the receiver, then enable the endpoint and recover what it missed; or delete it.",
	}
	for _, row := range rows {
		alert.About = append(alert.About, row.ID)
	}
	return &alert, nil
}

func (s *Service) failingAlert(ctx context.Context) (*events.Alert, error) {
	rows, err := queries(s.db()).FailingEndpoints(ctx, webhooksql.FailingEndpointsParams{ForSeconds: failingFor.Seconds()})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	alert := events.Alert{
		Name: AlertFailing, Count: rows[0].Total,
		Message: fmt.Sprintf("%d webhook endpoints have failed for more than %s without one success", rows[0].Total, failingFor),
		WayOut:  fmt.Sprintf("Read the latest attempts and see to the receiver; after %s without a success the endpoint is disabled.", s.cfg.DisableAfter),
	}
	for _, row := range rows {
		alert.About = append(alert.About, row.ID)
	}
	return &alert, nil
}
