package ops

import (
	"context"
	"errors"
	"fmt"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/bulk"
	"github.com/postbus/postbus/mail"
	"github.com/postbus/postbus/pg"
	"github.com/postbus/postbus/webhooks"
)

// Code says what kind of failure an error is. It is mapped to an HTTP status and an exit status here, and nowhere else.
type Code string

const (
	// Invalid input cannot be meant.
	Invalid Code = "invalid"
	// Unauthenticated: nobody known calls.
	Unauthenticated Code = "unauthenticated"
	// Forbidden: the caller may not.
	Forbidden Code = "forbidden"
	// NotFound: nothing has this name, or it is another owner's.
	NotFound Code = "not_found"
	// Conflict: the thing's state forbids it.
	Conflict Code = "conflict"
	// LeaseLost: the worker no longer holds the job, and what it did must not count.
	LeaseLost Code = "lease_lost"
	// CancelAsked: the job was asked to stop.
	CancelAsked Code = "cancel_asked"
	// TooLarge input is over the limit in bytes that the text says.
	TooLarge Code = "too_large"
	// RateLimited callers must wait as long as the text says.
	RateLimited Code = "rate_limited"
	// Unavailable: the database does not answer; trying again may help.
	Unavailable Code = "unavailable"
	// Internal is a fault of ours; the log has it.
	Internal Code = "internal"
)

// Status is the HTTP status.
func (c Code) Status() int {
	switch c {
	case Invalid:
		return 422
	case Unauthenticated:
		return 401
	case Forbidden:
		return 403
	case NotFound:
		return 404
	case Conflict, LeaseLost, CancelAsked:
		return 409
	case TooLarge:
		return 413
	case RateLimited:
		return 429
	case Unavailable:
		return 503
	}
	return 500
}

// Exit is the exit status of the command line: 1 failed, 2 usage, 3 not found, 4 refused.
func (c Code) Exit() int {
	switch c {
	case Invalid, TooLarge:
		return 2
	case NotFound:
		return 3
	case Unauthenticated, Forbidden, Conflict, LeaseLost, CancelAsked, RateLimited:
		return 4
	}
	return 1
}

// Error is what a caller is told. Its text holds no SQL and no secret.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Fields says what is wrong with which field of the input.
	Fields []FieldError `json:"fields,omitempty"`
	// RetryAfter is in how many seconds to try again; 0 where nobody knows.
	RetryAfter int `json:"retry_after,omitempty"`

	cause  error
	logged bool
}

// FieldError is what is wrong with one field.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

func (e *Error) Error() string {
	text := e.Message
	for _, f := range e.Fields {
		text += "; " + f.Field + ": " + f.Message
	}
	return text
}

// Unwrap is the cause, for the log.
func (e *Error) Unwrap() error { return e.cause }

// Logged says that the log has an Internal error already.
func (e *Error) Logged() bool { return e.logged }

func newError(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Explain turns any error into what a caller is told. What it does not know becomes Internal, with a text that gives nothing
// away.
func Explain(err error) *Error {
	var known *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case isAny(err, jobs.ErrNotFound, bulk.ErrNotFound, events.ErrNotFound, events.ErrReplayNotFound, webhooks.ErrNotFound, mail.ErrNotFound):
		return told(NotFound, err)
	case isAny(err, jobs.ErrInvalid, jobs.ErrUnknownKind, events.ErrInvalid, events.ErrUndeclaredType, webhooks.ErrInvalid, mail.ErrInvalid):
		return told(Invalid, err)
	case errors.Is(err, webhooks.ErrNoKey):
		return &Error{Code: Conflict, Message: err.Error() + "; webhook_keys sets them for a server, and a server that has them can be asked", cause: err}
	case isAny(err, webhooks.ErrConflict, mail.ErrConflict, events.ErrForeignName, events.ErrConflict, events.ErrNotPoisoned):
		return told(Conflict, err)
	case errors.Is(err, jobs.ErrLeaseLost):
		return told(LeaseLost, err)
	case errors.Is(err, jobs.ErrCancelAsked):
		return told(CancelAsked, err)
	case pg.IsUnavailable(err), errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: Unavailable, Message: "the database does not answer: try again in a moment", cause: err}
	case errors.Is(err, context.Canceled):
		return &Error{Code: Unavailable, Message: "the call was given up", cause: err}
	}
	return &Error{Code: Internal, Message: "something went wrong here; the log of the server has it", cause: err}
}

func told(code Code, err error) *Error { return &Error{Code: code, Message: err.Error(), cause: err} }

func isAny(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
