package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
)

// RecordAs records through tx under an id that the caller has chosen, a UUID, so that a call whose answer got lost can be made
// again. The first one makes the event and answers fresh; after it the same owner, type, subject and data, byte for byte, answer
// the event that stands, and any other content ErrConflict. That holds for as long as the event is kept. An empty id is a new one.
func (b *Bus) RecordAs(
	ctx context.Context, tx pgx.Tx, id, ownerID, typ, subject string, data any,
) (recorded string, fresh bool, err error) {
	if id == "" {
		recorded, err = b.RecordReturning(ctx, tx, ownerID, typ, subject, data)
		return recorded, err == nil, err
	}
	if !isUUID(id) {
		return "", false, fmt.Errorf("record %q: %w: id %q is not a UUID", typ, ErrInvalid, id)
	}
	id = strings.ToLower(id)
	r := b.recorder(tx)
	ctx, span := r.tracing.Record(ctx, typ)
	defer func() { span.EndRecord(recorded, recordFault(err)) }()
	raw, err := r.check(ownerID, typ, subject, data)
	if err != nil {
		return "", false, fmt.Errorf("record %q: %w", typ, err)
	}
	row, err := queries(tx).RecordEventAs(ctx, eventsql.RecordEventAsParams{
		ID: id, Type: typ, OwnerID: ownerID, Subject: subject, Data: raw, Trace: r.traceOf(ctx, span),
	})
	switch {
	case err != nil:
		return "", false, fmt.Errorf("record %q: %w", typ, refusal(err))
	case row.Fresh:
		return id, true, nil
	case !row.Declared:
		return "", false, undeclared(typ)
	}
	return id, false, b.standing(ctx, tx, Event{ID: id, OwnerID: ownerID, Type: typ, Subject: subject, Data: raw})
}

// standing says whether the event that has the id is the same. It reads in a statement of its own: what another transaction
// committed while the insert waited is seen by the next statement only.
func (b *Bus) standing(ctx context.Context, tx pgx.Tx, said Event) error {
	stands, err := b.Read(ctx, tx, said.ID)
	switch {
	case errors.Is(err, ErrNotFound):
		return fmt.Errorf("record %q: %w: event %s was pruned a moment ago: record it again", said.Type, ErrConflict, said.ID)
	case err != nil:
		return err
	case stands.OwnerID != said.OwnerID, stands.Type != said.Type, stands.Subject != said.Subject, !bytes.Equal(stands.Data, said.Data):
		return fmt.Errorf("record %q: %w: an event with the id %s stands and says something else: use a new id for a new event",
			said.Type, ErrConflict, said.ID)
	}
	return nil
}
