package webhooks

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
	"github.com/postbus/postbus/webhooks/internal/seal"
)

// NewKey makes a key for Config.Keys. The id is stored with what the key seals: 1 to 32 letters, digits, "-" and "_".
func NewKey(id string) (string, error) {
	key, err := seal.NewKey(id)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return key.Reveal(), nil
}

// checkKeys says at boot what would otherwise fail at each delivery: that a key is missing or wrong. It opens one sealed
// thing for each key.
func (s *Service) checkKeys(ctx context.Context) error {
	samples, err := queries(s.db()).SealedSamples(ctx)
	if err != nil {
		return fmt.Errorf("webhooks: read what is sealed: %w", err)
	}
	if len(samples) == 0 {
		return nil
	}
	if s.ring.Current() == "" {
		n, err := queries(s.db()).CountAllEndpoints(ctx)
		if err != nil {
			return fmt.Errorf("webhooks: count endpoints: %w", err)
		}
		return fmt.Errorf("webhooks: %w: %d endpoints exist, sealed with the key %q, and no key is configured: set Config.Keys to it",
			ErrNoKey, n, samples[0].KeyID)
	}
	for _, sample := range samples {
		if err := s.opens(sample); err != nil {
			return fmt.Errorf("webhooks: %w", err)
		}
	}
	return nil
}

func (s *Service) opens(sample webhooksql.SealedSamplesRow) error {
	if sample.SecretID == "" {
		_, err := s.openHeaders(sample.EndpointID, sample.KeyID, sample.Sealed)
		return err
	}
	_, err := s.openSecret(sample.EndpointID, sample.SecretID, sample.KeyID, sample.Sealed)
	return err
}

// Reseal seals what an older key sealed with the current one and answers how many things that were. Once it answers 0 without
// an error the older keys can be dropped. What cannot be opened is passed over and named in the error. It works in batches of
// 100 rows and leaves out those that somebody else holds.
func (s *Service) Reseal(ctx context.Context) (int, error) {
	if s.ring.Current() == "" {
		return 0, keyError("secrets", seal.ErrNoKey)
	}
	secrets, errSecrets := s.inBatches(ctx, s.resealSecrets)
	headers, errHeaders := s.inBatches(ctx, s.resealHeaders)
	if err := errors.Join(errSecrets, errHeaders); err != nil {
		return secrets + headers, fmt.Errorf("seal with the key %q: %w", s.ring.Current(), err)
	}
	return secrets + headers, nil
}

// batch is how far a batch got: after is the last row's id, "" when there are no more.
type batch struct {
	after  string
	done   int
	failed error // the first row that could not be opened
}

func (s *Service) inBatches(ctx context.Context, reseal func(ctx context.Context, tx pgx.Tx, after string) (batch, error)) (int, error) {
	var total batch
	for {
		var b batch
		err := s.within(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
			b, err = reseal(ctx, tx, total.after)
			return err
		})
		if err != nil {
			return total.done, err
		}
		total.done += b.done
		if total.failed == nil {
			total.failed = b.failed
		}
		if total.after = b.after; b.after == "" {
			return total.done, total.failed
		}
	}
}

func (s *Service) resealSecrets(ctx context.Context, tx pgx.Tx, after string) (b batch, err error) {
	rows, err := queries(tx).SecretsToReseal(ctx, webhooksql.SecretsToResealParams{Current: s.ring.Current(), After: nullable(after)})
	for _, row := range rows {
		b.after = row.ID
		key, err := s.openSecret(row.EndpointID, row.ID, row.KeyID, row.Sealed)
		if err != nil {
			b.failed = err
			continue
		}
		keyID, sealed, err := s.ring.Seal([]byte(key.Reveal()), secretContext(row.EndpointID, row.ID))
		if err != nil {
			return b, err
		}
		if err := queries(tx).ResealSecret(ctx, webhooksql.ResealSecretParams{ID: row.ID, KeyID: keyID, Sealed: sealed}); err != nil {
			return b, err
		}
		b.done++
	}
	return b, err
}

func (s *Service) resealHeaders(ctx context.Context, tx pgx.Tx, after string) (b batch, err error) {
	rows, err := queries(tx).HeadersToReseal(ctx, webhooksql.HeadersToResealParams{Current: s.ring.Current(), After: nullable(after)})
	for _, row := range rows {
		b.after = row.ID
		headers, err := s.openHeaders(row.ID, row.HeadersKey, row.Headers)
		if err != nil {
			b.failed = err
			continue
		}
		keyID, sealed, err := s.sealHeaders(row.ID, headers)
		if err != nil {
			return b, err
		}
		if err := queries(tx).ResealHeaders(ctx, webhooksql.ResealHeadersParams{ID: row.ID, KeyID: *keyID, Sealed: sealed}); err != nil {
			return b, err
		}
		b.done++
	}
	return b, err
}
