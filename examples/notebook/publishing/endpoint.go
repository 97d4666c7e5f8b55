package publishing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/examples/notebook/note"
	"github.com/postbus/postbus/pg"
	"github.com/postbus/postbus/webhooks"
)

// inFlight is how many requests the receiver gets at a time.
const inFlight = 8

// Publisher looks after the endpoint of one owner's published notes.
type Publisher struct {
	Pool  *pgxpool.Pool
	Notes *note.Store
	Bus   *postbus.Bus
	Owner string
}

// Endpoint answers the endpoint, nil where there is none yet.
func (p *Publisher) Endpoint(ctx context.Context) (*webhooks.Endpoint, error) {
	id, err := p.Notes.EndpointID(ctx)
	if err != nil || id == "" {
		return nil, err
	}
	e, err := p.Bus.Webhooks().Get(ctx, id)
	if errors.Is(err, webhooks.ErrNotFound) {
		return nil, nil // deleted
	}
	return &e, err
}

// Ensure makes the endpoint where there is none and points it at url. fresh says that the secret was made just now, so that
// an endpoint that is there has another. The caller owns the receiver: nobody else calls this at the same time.
func (p *Publisher) Ensure(ctx context.Context, url, secret string, fresh bool) error {
	e, err := p.Endpoint(ctx)
	if err != nil {
		return err
	}
	if e == nil {
		return p.create(ctx, url, secret)
	}
	if fresh {
		if _, err := p.Bus.Webhooks().RotateSecret(ctx, e.ID, webhooks.RotateSpec{Secret: secret, Overlap: new(time.Duration)}); err != nil {
			return err
		}
	}
	return p.point(ctx, *e, url)
}

func (p *Publisher) create(ctx context.Context, url, secret string) error {
	return pg.InTx(ctx, p.Pool, func(ctx context.Context, tx pgx.Tx) error {
		made, err := p.Bus.Webhooks().With(tx).Create(ctx, webhooks.EndpointSpec{
			OwnerID: p.Owner, URL: url, Description: "the notebook's receiver", Types: []string{Published},
			Secret: secret, Ordered: true, MaxInFlight: inFlight,
		})
		if err != nil {
			return err
		}
		return note.SetEndpointID(ctx, tx, made.ID)
	})
}

// point brings address and switch to what they should be. What a person disabled stays so.
func (p *Publisher) point(ctx context.Context, e webhooks.Endpoint, url string) error {
	var patch webhooks.EndpointPatch
	if e.URL != url {
		patch.URL = &url
	}
	if byHand := strings.HasPrefix(e.DisabledReason, "disabled by hand"); !byHand {
		on := true
		patch.Enabled = &on
	}
	_, err := p.Bus.Webhooks().Update(ctx, e.ID, patch)
	return err
}

// CatchUp sends now what waits for a later attempt, and again what was given up: the receiver has just come back.
func (p *Publisher) CatchUp(ctx context.Context) error {
	e, err := p.Endpoint(ctx)
	if err != nil || e == nil || !e.Enabled {
		return err
	}
	for n := 1; n > 0; {
		if n, err = p.Bus.Webhooks().RedeliverDiscarded(ctx, e.ID, 1000); err != nil {
			return fmt.Errorf("send again what was given up: %w", err)
		}
	}
	filter := webhooks.DeliveryFilter{EndpointID: e.ID, States: []webhooks.DeliveryState{webhooks.Pending}, Limit: 200}
	for {
		page, err := p.Bus.Webhooks().Deliveries(ctx, filter)
		if err != nil {
			return err
		}
		for _, d := range page.Deliveries {
			if d.Tries == 0 || d.InFlight {
				continue
			}
			if _, err := p.Bus.Webhooks().Redeliver(ctx, d.ID); err != nil && !errors.Is(err, webhooks.ErrConflict) {
				return err
			}
		}
		if filter.Cursor = page.Next; page.Next == "" {
			return nil
		}
	}
}
