package webhooks

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
	"github.com/postbus/postbus/pg"
)

// Created is a new endpoint and what its receiver verifies with.
type Created struct {
	Endpoint
	// Secret is shown here and never again.
	Secret string
	// PublicKey verifies the asymmetric signatures, "" where there are none. It can be asked for at any time: PublicKeys.
	PublicKey string
}

// Create makes an endpoint. From the commit on the events of its owner that it takes are sent to it.
func (s *Service) Create(ctx context.Context, spec EndpointSpec) (Created, error) {
	secrets, err := s.secretsOf(spec)
	if err != nil {
		return Created{}, err
	}
	var created Created
	err = s.within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		checked, err := s.check(ctx, tx, spec)
		if err != nil {
			return err
		}
		if err := roomForOne(ctx, tx, spec.OwnerID); err != nil {
			return err
		}
		created, err = s.insert(ctx, tx, checked, secrets)
		return err
	})
	if err != nil {
		return Created{}, fmt.Errorf("create endpoint: %w", err)
	}
	return created, nil
}

// roomForOne counts the owner's endpoints while nobody else makes one.
func roomForOne(ctx context.Context, tx pgx.Tx, owner string) error {
	if err := queries(tx).LockOwner(ctx, webhooksql.LockOwnerParams{OwnerID: owner}); err != nil {
		return err
	}
	n, err := queries(tx).CountEndpoints(ctx, webhooksql.CountEndpointsParams{OwnerID: owner})
	if err != nil {
		return err
	}
	if n >= maxPerOwner {
		return fmt.Errorf("%w: owner %q has %d endpoints, the limit is %d: delete some, or send to one that distributes",
			ErrConflict, owner, n, maxPerOwner)
	}
	return nil
}

func (s *Service) insert(ctx context.Context, tx pgx.Tx, spec settings, secrets []newSecret) (Created, error) {
	id := newUUID()
	keyID, sealed, err := s.sealHeaders(id, spec.Headers)
	if err != nil {
		return Created{}, err
	}
	row, err := queries(tx).InsertEndpoint(ctx, webhooksql.InsertEndpointParams{
		ID: id, OwnerID: spec.OwnerID, Url: spec.URL, Description: spec.Description, Types: spec.Types, Scope: spec.scope,
		HeadersKey: keyID, Headers: sealed, MaxInFlight: int32(spec.MaxInFlight), RatePerSecond: int32(spec.RatePerSecond),
		Ordered: spec.Ordered,
	})
	if err != nil {
		return Created{}, refusal(err)
	}
	created := Created{}
	if created.Endpoint, err = s.endpointOf(row); err != nil {
		return Created{}, err
	}
	for _, secret := range secrets {
		if err := s.insertSecret(ctx, tx, id, secret); err != nil {
			return Created{}, err
		}
		if secret.public != "" {
			created.PublicKey = secret.public
		} else {
			created.Secret = secret.key.Reveal()
		}
	}
	return created, nil
}

// refusal turns what the tables refuse into ErrInvalid: these are faults of the input, for ever. The database's text, which
// may quote a value, is left out.
func refusal(err error) error {
	if pg.IsRowFault(err) {
		return fmt.Errorf("%w: the database refuses a value; use UTF-8 without NUL, within the limits", ErrInvalid)
	}
	return err
}
