package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

// EndpointFilter selects endpoints. Zero fields do not select.
type EndpointFilter struct {
	OwnerID string
	Enabled *bool
	Failing *bool
	Cursor  string // EndpointPage.Next of the page before
	Limit   int    // default 50, at most 200
}

// EndpointPage is one page of endpoints by id. Next is "" on the last one.
type EndpointPage struct {
	Endpoints []Endpoint
	Next      string
}

// Get answers one endpoint.
func (s *Service) Get(ctx context.Context, endpointID string) (Endpoint, error) {
	if !isUUID(endpointID) {
		return Endpoint{}, noEndpoint(endpointID)
	}
	row, err := queries(s.db()).EndpointByID(ctx, webhooksql.EndpointByIDParams{ID: endpointID})
	if errors.Is(err, pgx.ErrNoRows) {
		return Endpoint{}, noEndpoint(endpointID)
	}
	if err != nil {
		return Endpoint{}, fmt.Errorf("read endpoint %s: %w", endpointID, err)
	}
	return s.endpointOf(row)
}

// List answers a page of endpoints.
func (s *Service) List(ctx context.Context, f EndpointFilter) (EndpointPage, error) {
	limit, err := pageSize(f.Limit)
	if err != nil {
		return EndpointPage{}, err
	}
	after, err := keyOf("endpoint", f.Cursor)
	if err != nil || after != "" && !isUUID(after) {
		return EndpointPage{}, badCursor(f.Cursor)
	}
	rows, err := queries(s.db()).ListEndpoints(ctx, webhooksql.ListEndpointsParams{
		After: nullable(after), OwnerID: f.OwnerID, OnlyEnabled: f.Enabled, OnlyFailing: f.Failing, PageSize: int32(limit) + 1,
	})
	if err != nil {
		return EndpointPage{}, fmt.Errorf("list endpoints: %w", err)
	}
	var page EndpointPage
	if len(rows) > limit {
		rows = rows[:limit]
		page.Next = cursorOf("endpoint", rows[limit-1].ID)
	}
	page.Endpoints = make([]Endpoint, len(rows))
	for i, row := range rows {
		if page.Endpoints[i], err = s.endpointOf(row); err != nil {
			return EndpointPage{}, err
		}
	}
	return page, nil
}

func (s *Service) endpointOf(row webhooksql.PostbusWebhookEndpoint) (Endpoint, error) {
	scope, err := scopeOf(row.ID, row.Scope)
	if err != nil {
		return Endpoint{}, err
	}
	return Endpoint{
		ID: row.ID, OwnerID: row.OwnerID, URL: row.Url, Description: row.Description, Types: row.Types, Scope: scope,
		HeaderNames: s.headerNames(row), MaxInFlight: int(row.MaxInFlight), RatePerSecond: int(deref(row.RatePerSecond)),
		Ordered: row.Ordered, Enabled: row.Enabled, DisabledReason: deref(row.DisabledReason), DisabledAt: utc(row.DisabledAt),
		FailingSince: utc(row.FailingSince), CooldownUntil: utc(row.CooldownUntil),
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(),
	}, nil
}

// scopeOf decodes what normal encoded.
func scopeOf(endpointID string, raw []byte) (Scope, error) {
	var scope Scope
	if err := json.Unmarshal(raw, &scope); err != nil {
		return scope, fmt.Errorf("endpoint %s: its stored scope cannot be read: %w", endpointID, err)
	}
	return scope, nil
}
