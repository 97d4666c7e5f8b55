package webhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
	"github.com/postbus/postbus/webhooks/internal/seal"
	"github.com/postbus/postbus/webhooks/internal/sign"
)

const (
	symmetric  = "v1"
	asymmetric = "v1a"

	maxLiveSecrets = 5
	maxOverlap     = 7 * 24 * time.Hour
)

// newSecret is one that is to be sealed. public is "" for a symmetric one.
type newSecret struct {
	key    sign.Key
	public string
}

func (n newSecret) algorithm() string {
	if n.public != "" {
		return asymmetric
	}
	return symmetric
}

// keyError says which key is missing and how it is given.
func keyError(what string, err error) error {
	if errors.Is(err, seal.ErrNoKey) {
		return fmt.Errorf("%w: %s cannot be sealed or opened: set Config.Keys (see NewKey): %w", ErrNoKey, what, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrNoKey, what, err)
}

// secretsOf makes the secrets of a new endpoint, or takes the one that was brought along.
func (s *Service) secretsOf(spec EndpointSpec) ([]newSecret, error) {
	secret, err := takeSecret(spec.Secret)
	if err != nil {
		return nil, err
	}
	secrets := []newSecret{secret}
	if spec.Asymmetric {
		private, public := sign.NewKeyPair()
		secrets = append(secrets, newSecret{key: private, public: public})
	}
	return secrets, nil
}

func takeSecret(text string) (newSecret, error) {
	if text == "" {
		return newSecret{key: sign.NewSecret()}, nil
	}
	secret, err := sign.ParseSecret(text)
	if err != nil {
		return newSecret{}, fmt.Errorf("%w: secret: %w", ErrInvalid, err)
	}
	return newSecret{key: secret}, nil
}

func secretContext(endpointID, secretID string) string { return endpointID + " " + secretID }

func (s *Service) insertSecret(ctx context.Context, tx pgx.Tx, endpointID string, secret newSecret) error {
	id := newUUID()
	keyID, sealed, err := s.ring.Seal([]byte(secret.key.Reveal()), secretContext(endpointID, id))
	if err != nil {
		return keyError("signing secrets", err)
	}
	return queries(tx).InsertSecret(ctx, webhooksql.InsertSecretParams{
		ID: id, EndpointID: endpointID, Algorithm: secret.algorithm(), KeyID: keyID, Sealed: sealed,
		PublicKey: nullable(secret.public),
	})
}

func (s *Service) openSecret(endpointID, secretID, keyID string, sealed []byte) (sign.Key, error) {
	what := "secret " + secretID + " of endpoint " + endpointID
	plain, err := s.ring.Open(keyID, sealed, secretContext(endpointID, secretID))
	if err != nil {
		return nil, keyError(what, err)
	}
	key, err := sign.ParseKey(string(plain))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return key, nil
}

// PublicKey verifies asymmetric signatures.
type PublicKey struct {
	// Key is "whpk_" and base64.
	Key       string
	CreatedAt time.Time
	// ExpiresAt is when it ends after a rotation; nil for the current one.
	ExpiresAt *time.Time
}

// PublicKeys answers the endpoint's live public keys, the newest first; none where it has no asymmetric signatures.
func (s *Service) PublicKeys(ctx context.Context, endpointID string) ([]PublicKey, error) {
	if _, err := s.Get(ctx, endpointID); err != nil {
		return nil, err
	}
	rows, err := queries(s.db()).PublicKeysOf(ctx, webhooksql.PublicKeysOfParams{EndpointID: endpointID})
	if err != nil {
		return nil, fmt.Errorf("read public keys of endpoint %s: %w", endpointID, err)
	}
	keys := make([]PublicKey, len(rows))
	for i, row := range rows {
		keys[i] = PublicKey{Key: row.PublicKey, CreatedAt: row.CreatedAt.UTC(), ExpiresAt: utc(row.ExpiresAt)}
	}
	return keys, nil
}
