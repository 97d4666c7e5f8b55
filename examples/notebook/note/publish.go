package note

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/examples/notebook/note/notesql"
)

// Publish makes a note public, or withdraws it. What is so already stays as it is.
func (s *Store) Publish(ctx context.Context, owner, id string, public bool) (Note, error) {
	if !isID(id) {
		return Note{}, ErrNotFound
	}
	row, err := s.q().PublishNote(ctx, notesql.PublishNoteParams{OwnerID: owner, ID: id, Publish: public})
	return found(Note(row), err, "publish note "+id)
}

// Publication is what of a note is public.
type Publication struct {
	NoteID  string
	Title   string
	Version int64
}

// Publications calls visit with pages of at most n of the owner's published notes, in the order of their ids.
func (s *Store) Publications(ctx context.Context, owner string, n int, visit func([]Publication) error) error {
	for after := firstID; ; {
		rows, err := s.q().Publications(ctx, notesql.PublicationsParams{OwnerID: owner, AfterID: after, PageSize: int32(n)})
		if err != nil {
			return fmt.Errorf("read the published notes: %w", err)
		}
		if len(rows) == 0 {
			return nil
		}
		page := make([]Publication, len(rows))
		for i, row := range rows {
			page[i] = Publication(row)
		}
		if err := visit(page); err != nil {
			return err
		}
		after = page[len(page)-1].NoteID
	}
}

// CountPublished answers how many of the owner's notes are public.
func (s *Store) CountPublished(ctx context.Context, owner string) (int64, error) {
	n, err := s.q().CountPublications(ctx, notesql.CountPublicationsParams{OwnerID: owner})
	if err != nil {
		return 0, fmt.Errorf("count the published notes: %w", err)
	}
	return n, nil
}

// ErrOtherKey says that this database's webhook secrets are sealed with another key.
var ErrOtherKey = errors.New("another key")

// AdoptWebhookKey names the key that seals this database's webhook secrets. The first name stays; another is refused.
func (s *Store) AdoptWebhookKey(ctx context.Context, keyID string) error {
	is, err := s.q().AdoptWebhookKey(ctx, notesql.AdoptWebhookKeyParams{KeyID: keyID})
	if err != nil {
		return fmt.Errorf("name the key of the webhooks: %w", err)
	}
	if is != keyID {
		return fmt.Errorf("%w: the webhooks of this database are sealed with the key %q", ErrOtherKey, is)
	}
	return nil
}

// EndpointID answers the endpoint to which the published notes go, "" where there is none yet.
func (s *Store) EndpointID(ctx context.Context) (string, error) {
	id, err := s.q().EndpointID(ctx)
	if err != nil {
		return "", fmt.Errorf("read the endpoint of the published notes: %w", err)
	}
	return id, nil
}

// SetEndpointID keeps that endpoint's id, in the transaction that makes the endpoint.
func SetEndpointID(ctx context.Context, tx pgx.Tx, id string) error {
	if err := notesql.New(tx).SetEndpointID(ctx, notesql.SetEndpointIDParams{EndpointID: id}); err != nil {
		return fmt.Errorf("keep the endpoint of the published notes: %w", err)
	}
	return nil
}
