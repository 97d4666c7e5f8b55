package webhooks

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

// EndpointPatch changes an endpoint. What is nil stays as it is.
type EndpointPatch struct {
	URL, Description *string
	Types            *[]string
	Scope            *Scope
	// Headers replaces all custom headers.
	Headers                    *map[string]string
	MaxInFlight, RatePerSecond *int
	// Ordered takes hold of what waits already: from then on its subjects go one after the other, or no longer do.
	Ordered *bool
	// Enabled true forgets failures, Retry-After and why it was disabled. False discards what waits; it can be sent again
	// after enabling, with RedeliverDiscarded or Recover.
	Enabled *bool
	// Reason says why it is disabled by hand; at most 1 KiB.
	Reason string
}

const disabledByHand = "disabled by hand"

// Update changes an endpoint. What is in flight ends as it began; everything after is sent as the change says.
func (s *Service) Update(ctx context.Context, endpointID string, patch EndpointPatch) (Endpoint, error) {
	if err := patch.check(); err != nil {
		return Endpoint{}, err
	}
	act := s.act
	if patch.Ordered != nil || patch.Enabled != nil && !*patch.Enabled { // what a fan-out makes meanwhile must not be missed
		act = s.actAlone
	}
	var endpoint Endpoint
	err := act(ctx, endpointID, func(ctx context.Context, tx pgx.Tx, row webhooksql.PostbusWebhookEndpoint) error {
		if err := s.apply(ctx, tx, row, patch); err != nil {
			return err
		}
		changed, err := queries(tx).EndpointByID(ctx, webhooksql.EndpointByIDParams{ID: endpointID})
		if err != nil {
			return err
		}
		endpoint, err = s.endpointOf(changed)
		return err
	})
	if err != nil {
		return Endpoint{}, fmt.Errorf("update endpoint %s: %w", endpointID, err)
	}
	return endpoint, nil
}

func (p EndpointPatch) check() error {
	if p.Reason != "" && (p.Enabled == nil || *p.Enabled) {
		return fmt.Errorf("%w: reason says why an endpoint is disabled; leave it out, or disable", ErrInvalid)
	}
	if len(p.Reason) > maxReasonBytes || !isText(p.Reason) {
		return fmt.Errorf("%w: reason has %d bytes; use at most %d bytes of UTF-8 without NUL", ErrInvalid, len(p.Reason), maxReasonBytes)
	}
	return nil
}

func (s *Service) apply(ctx context.Context, tx pgx.Tx, row webhooksql.PostbusWebhookEndpoint, patch EndpointPatch) error {
	params, err := s.patched(ctx, tx, row, patch)
	if err != nil {
		return err
	}
	if _, err := queries(tx).UpdateEndpoint(ctx, params); err != nil {
		return refusal(err)
	}
	if err := s.switched(ctx, tx, row, patch); err != nil {
		return err
	}
	if err := relined(ctx, tx, row, params.Ordered); err != nil {
		return err
	}
	if params.MaxInFlight < row.MaxInFlight {
		if err := queries(tx).DropSlotsAbove(ctx, webhooksql.DropSlotsAboveParams{
			EndpointID: row.ID, MaxInFlight: params.MaxInFlight,
		}); err != nil {
			return err
		}
	}
	return s.admitDue(ctx, tx, row.ID)
}

// patched answers the endpoint's columns after the patch, checked as a new endpoint's are.
func (s *Service) patched(
	ctx context.Context, tx pgx.Tx, row webhooksql.PostbusWebhookEndpoint, patch EndpointPatch,
) (webhooksql.UpdateEndpointParams, error) {
	before, err := s.endpointOf(row)
	if err != nil {
		return webhooksql.UpdateEndpointParams{}, err
	}
	spec := EndpointSpec{
		OwnerID: row.OwnerID, URL: orElse(patch.URL, before.URL), Description: orElse(patch.Description, before.Description),
		Types: orElse(patch.Types, before.Types), Scope: orElse(patch.Scope, before.Scope), Headers: deref(patch.Headers),
		MaxInFlight: orElse(patch.MaxInFlight, before.MaxInFlight), RatePerSecond: orElse(patch.RatePerSecond, before.RatePerSecond),
		Ordered: orElse(patch.Ordered, before.Ordered),
	}
	checked, err := s.checkPatched(ctx, tx, spec, patch)
	if err != nil {
		return webhooksql.UpdateEndpointParams{}, err
	}
	params := webhooksql.UpdateEndpointParams{
		ID: row.ID, Url: checked.URL, Description: checked.Description, Types: checked.Types, Scope: checked.scope,
		HeadersKey: row.HeadersKey, Headers: row.Headers, MaxInFlight: int32(checked.MaxInFlight),
		RatePerSecond: int32(checked.RatePerSecond), Ordered: checked.Ordered,
	}
	if patch.Headers != nil {
		if params.HeadersKey, params.Headers, err = s.sealHeaders(row.ID, *patch.Headers); err != nil {
			return params, err
		}
	}
	if patch.Headers != nil || checked.URL != row.Url {
		params.Changes = 1
	}
	return params, nil
}

// checkPatched checks what the patch names. What stays is not held against the endpoint: a type may have become internal since.
func (s *Service) checkPatched(ctx context.Context, tx pgx.Tx, spec EndpointSpec, patch EndpointPatch) (settings, error) {
	if patch.URL != nil {
		if err := s.checkURL(spec.URL); err != nil {
			return settings{}, err
		}
	}
	if patch.Types != nil {
		if err := checkTypes(ctx, tx, spec.Types); err != nil {
			return settings{}, err
		}
	}
	return checkRest(spec)
}

// switched enables or disables, where the patch says so.
func (s *Service) switched(ctx context.Context, tx pgx.Tx, row webhooksql.PostbusWebhookEndpoint, patch EndpointPatch) error {
	switch {
	case patch.Enabled == nil:
		return nil
	case *patch.Enabled:
		return queries(tx).EnableEndpoint(ctx, webhooksql.EnableEndpointParams{ID: row.ID})
	}
	reason := strings.TrimSuffix(disabledByHand+": "+patch.Reason, ": ")
	if err := queries(tx).DisableByHand(ctx, webhooksql.DisableByHandParams{ID: row.ID, Reason: reason}); err != nil {
		return err
	}
	_, err := queries(tx).DiscardWaiting(ctx, webhooksql.DiscardWaitingParams{EndpointID: row.ID, Reason: disabled(&reason)})
	return err
}

// relined forms or dissolves the lines of what is pending, where the order changed.
func relined(ctx context.Context, tx pgx.Tx, row webhooksql.PostbusWebhookEndpoint, ordered bool) error {
	switch {
	case ordered == row.Ordered:
		return nil
	case ordered:
		return queries(tx).FormLines(ctx, webhooksql.FormLinesParams{EndpointID: row.ID})
	}
	return queries(tx).DissolveLines(ctx, webhooksql.DissolveLinesParams{EndpointID: row.ID})
}

func orElse[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}
