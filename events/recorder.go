package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/internal/tracing"
	"github.com/postbus/postbus/pg"
)

// Recorder writes events into the outbox. This interface never changes.
type Recorder interface {
	// With answers a Recorder that writes through tx: the event exists if and only if tx commits.
	With(tx pgx.Tx) Recorder

	// Record records that something of the declared type happened to the owner's subject. data is JSON: a json.RawMessage
	// is kept byte for byte, nil means {}, anything else is marshalled by encoding/json. What is refused (an undeclared
	// type, an empty owner, type or subject, data that is not JSON, holds \u0000 or is over the limit) writes nothing.
	Record(ctx context.Context, ownerID, typ, subject string, data any) error
}

type recorder struct {
	db       pg.DBTX
	maxBytes int
	trace    func(context.Context) string
	tracing  *tracing.Tracer
}

func (b *Bus) recorder(db pg.DBTX) recorder {
	return recorder{db: db, maxBytes: b.cfg.MaxDataBytes, trace: b.cfg.Trace, tracing: b.cfg.Tracing}
}

func (r recorder) With(tx pgx.Tx) Recorder {
	r.db = tx
	return r
}

func (r recorder) Record(ctx context.Context, ownerID, typ, subject string, data any) error {
	_, err := r.record(ctx, ownerID, typ, subject, data)
	return err
}

// RecordReturning records through tx as a Recorder does and answers the event's id.
func (b *Bus) RecordReturning(ctx context.Context, tx pgx.Tx, ownerID, typ, subject string, data any) (id string, err error) {
	return b.recorder(tx).record(ctx, ownerID, typ, subject, data)
}

func (r recorder) record(ctx context.Context, ownerID, typ, subject string, data any) (id string, err error) {
	ctx, span := r.tracing.Record(ctx, typ)
	defer func() { span.EndRecord(id, recordFault(err)) }()
	raw, err := r.check(ownerID, typ, subject, data)
	if err != nil {
		return "", fmt.Errorf("record %q: %w", typ, err)
	}
	id, err = eventsql.New(r.db).RecordEvent(ctx, eventsql.RecordEventParams{
		Type: typ, OwnerID: ownerID, Subject: subject, Data: raw, Trace: r.traceOf(ctx, span),
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return "", undeclared(typ)
	}
	if err != nil {
		return "", fmt.Errorf("record %q: %w", typ, refusal(err))
	}
	return id, nil
}

// traceOf is the traceparent to record, nil where there is none: the application's own function has the last word.
func (r recorder) traceOf(ctx context.Context, span tracing.Span) *string {
	trace := span.Traceparent()
	if r.trace != nil {
		trace = r.trace(ctx)
	}
	if trace == "" {
		return nil
	}
	return &trace
}

// recordFault is why an event was not recorded, in one word.
func recordFault(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrInvalid), errors.Is(err, ErrUndeclaredType), errors.Is(err, ErrConflict):
		return "refused"
	default:
		return "failed"
	}
}

func undeclared(typ string) error {
	return fmt.Errorf("record %q: %w: declare it in Config.Types or with postbus.declare_type", typ, ErrUndeclaredType)
}

// check looks at what Go can see before the database does: a statement refused there aborts the caller's transaction.
func (r recorder) check(ownerID, typ, subject string, data any) (json.RawMessage, error) {
	for _, part := range []struct{ name, value string }{{"owner", ownerID}, {"type", typ}, {"subject", subject}} {
		if part.value == "" {
			return nil, fmt.Errorf("%w: %s must not be empty", ErrInvalid, part.name)
		}
		if err := checkText(part.name, part.value); err != nil {
			return nil, err
		}
	}
	if err := checkTypeName(typ); err != nil {
		return nil, err
	}
	raw, err := encode(data)
	if err != nil {
		return nil, err
	}
	if len(raw) > r.maxBytes {
		return nil, fmt.Errorf("%w: data is %d bytes; the limit is %d bytes: record keys and let the subscriber read the row",
			ErrInvalid, len(raw), r.maxBytes)
	}
	return raw, nil
}

func checkText(what, text string) error {
	if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
		return fmt.Errorf("%w: %s must be UTF-8 without NUL", ErrInvalid, what)
	}
	return nil
}

func encode(data any) (json.RawMessage, error) {
	raw, given := data.(json.RawMessage)
	switch {
	case data == nil:
		return json.RawMessage(`{}`), nil
	case !given:
		var err error
		if raw, err = json.Marshal(data); err != nil {
			return nil, fmt.Errorf("%w: data cannot be marshalled: %w", ErrInvalid, err)
		}
	case !json.Valid(raw) || !utf8.Valid(raw):
		return nil, fmt.Errorf("%w: data is not JSON in UTF-8", ErrInvalid)
	}
	if why := badEscape(raw); why != "" {
		return nil, fmt.Errorf("%w: data holds %s, which Postgres cannot store as text", ErrInvalid, why)
	}
	return raw, nil
}

// refusal turns what the table's own checks refuse into ErrInvalid; these are faults of the input, for ever.
func refusal(err error) error {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return err
	}
	switch pgErr.Code {
	case "22P02", "22P05", "22003", "23514", "54001":
		return fmt.Errorf("%w: data cannot be stored: %w", ErrInvalid, err)
	}
	return err
}
