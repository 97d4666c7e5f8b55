package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

// ReplayMode says what a replay to an endpoint sends. What was delivered is never sent again by one.
type ReplayMode string

const (
	// ModeRecover sends what was discarded or skipped; what was cancelled by hand stays.
	ModeRecover ReplayMode = "recover"
	// ModeReplay also sends events that the endpoint takes and has no delivery of, such as those from before it was made.
	ModeReplay ReplayMode = "replay"
)

// ReplayOptions are the Options of a replay to an endpoint. Mode defaults to ModeReplay.
type ReplayOptions struct {
	Mode ReplayMode `json:"mode,omitempty"`
}

func replayOptions(raw json.RawMessage) (ReplayOptions, error) {
	var o ReplayOptions
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&o); err != nil {
		return o, fmt.Errorf("%w: options of a replay to an endpoint: %w: write {\"mode\": %q}", ErrInvalid, err, ModeRecover)
	}
	switch o.Mode {
	case "":
		o.Mode = ModeReplay
	case ModeRecover, ModeReplay:
	default:
		return o, fmt.Errorf("%w: mode %q; use %q or %q", ErrInvalid, o.Mode, ModeRecover, ModeReplay)
	}
	return o, nil
}

// Recover sends again what an endpoint discarded or skipped of the events that occurred at or after since and before until; a
// zero until is now. It works in the background: see events.Bus.Replay for its progress.
func (s *Service) Recover(ctx context.Context, endpointID string, since, until time.Time) (events.Replay, error) {
	return s.startReplay(ctx, endpointID, events.ReplaySpec{Since: since, Until: until}, ModeRecover)
}

// Replay does what Recover does and also sends events of that time that the endpoint takes and never got, of the types that
// match one of the globs; no globs are all that it takes.
func (s *Service) Replay(ctx context.Context, endpointID string, since, until time.Time, types []string) (events.Replay, error) {
	return s.startReplay(ctx, endpointID, events.ReplaySpec{Since: since, Until: until, Types: types}, ModeReplay)
}

func (s *Service) startReplay(ctx context.Context, endpointID string, spec events.ReplaySpec, mode ReplayMode) (events.Replay, error) {
	var replay events.Replay
	err := s.act(ctx, endpointID, func(ctx context.Context, tx pgx.Tx, at webhooksql.PostbusWebhookEndpoint) (err error) {
		spec.Target, spec.Name, spec.OwnerID = events.ReplayEndpoint, at.ID, at.OwnerID
		if spec.Options, err = json.Marshal(ReplayOptions{Mode: mode}); err != nil {
			return err
		}
		replay, err = s.bus.StartReplay(ctx, tx, spec)
		return err
	})
	if err != nil {
		return events.Replay{}, fmt.Errorf("%s endpoint %s: %w", mode, endpointID, err)
	}
	return replay, nil
}
