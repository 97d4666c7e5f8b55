package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
	"github.com/postbus/postbus/webhooks/internal/sign"
)

// RotateSpec says how a secret is replaced.
type RotateSpec struct {
	// Secret is a new secret that the receiver has already, "whsec_…". Defaults to a new one.
	Secret string
	// Asymmetric replaces the Ed25519 key in place of the secret, and gives one to an endpoint that has none.
	Asymmetric bool
	// Overlap is how long the previous ones stay valid beside the new one, 0 to 7 days; 0 ends them at once. Defaults to
	// Config.Overlap.
	Overlap *time.Duration
}

// Rotated is what a rotation made.
type Rotated struct {
	// Secret is shown here and never again; "" where the Ed25519 key was replaced.
	Secret string
	// PublicKey is the new one, where the Ed25519 key was replaced.
	PublicKey string
	// PreviousEndAt is when the previous ones end at the latest.
	PreviousEndAt time.Time
}

// RotateSecret makes a new secret current. While the previous ones are valid each request carries a signature by every one.
// At most 5 are valid at a time.
func (s *Service) RotateSecret(ctx context.Context, endpointID string, spec RotateSpec) (Rotated, error) {
	overlap, err := s.overlap(spec.Overlap)
	if err != nil {
		return Rotated{}, err
	}
	secret, err := rotateTo(spec)
	if err != nil {
		return Rotated{}, err
	}
	rotated := Rotated{PublicKey: secret.public}
	if secret.public == "" {
		rotated.Secret = secret.key.Reveal()
	}
	err = s.act(ctx, endpointID, func(ctx context.Context, tx pgx.Tx, _ webhooksql.PostbusWebhookEndpoint) error {
		rotated.PreviousEndAt, err = s.rotate(ctx, tx, endpointID, secret, overlap)
		return err
	})
	if err != nil {
		return Rotated{}, fmt.Errorf("rotate the secret of endpoint %s: %w", endpointID, err)
	}
	return rotated, nil
}

func rotateTo(spec RotateSpec) (newSecret, error) {
	if !spec.Asymmetric {
		return takeSecret(spec.Secret)
	}
	if spec.Secret != "" {
		return newSecret{}, fmt.Errorf("%w: secret and asymmetric exclude each other: the Ed25519 key is always made here", ErrInvalid)
	}
	private, public := sign.NewKeyPair()
	return newSecret{key: private, public: public}, nil
}

func (s *Service) overlap(given *time.Duration) (time.Duration, error) {
	if given == nil {
		return max(s.cfg.Overlap, 0), nil // -1 means none
	}
	if *given < 0 || *given > maxOverlap {
		return 0, fmt.Errorf("%w: overlap is %s; use 0 to %s", ErrInvalid, *given, maxOverlap)
	}
	return *given, nil
}

// rotate ends the previous secrets first: what has ended is removed and does not count.
func (s *Service) rotate(ctx context.Context, tx pgx.Tx, endpointID string, secret newSecret, overlap time.Duration) (time.Time, error) {
	q := queries(tx)
	end, err := q.ExpireSecrets(ctx, webhooksql.ExpireSecretsParams{
		EndpointID: endpointID, Algorithm: secret.algorithm(), OverlapSeconds: overlap.Seconds(),
	})
	if err != nil {
		return end, err
	}
	if err := q.DropExpiredSecrets(ctx, webhooksql.DropExpiredSecretsParams{EndpointID: endpointID}); err != nil {
		return end, err
	}
	live, err := q.CountLiveSecrets(ctx, webhooksql.CountLiveSecretsParams{EndpointID: endpointID})
	if err != nil {
		return end, err
	}
	if live.Live >= maxLiveSecrets {
		return end, fmt.Errorf("%w: %d secrets are still valid, the limit is %d: wait %s until the first ends, or rotate with the overlap 0",
			ErrConflict, live.Live, maxLiveSecrets, time.Duration(live.SecondsToFirstEnd*float64(time.Second)).Round(time.Second))
	}
	if err := s.insertSecret(ctx, tx, endpointID, secret); err != nil {
		return end, err
	}
	return end.UTC(), q.TouchEndpoint(ctx, webhooksql.TouchEndpointParams{ID: endpointID})
}
