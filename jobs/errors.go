package jobs

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNotFound says that the thing named does not exist, or has been pruned.
	ErrNotFound = errors.New("not found")
	// ErrUnknownKind says that a kind is not declared here and the call does not say its queue and attempts.
	ErrUnknownKind = errors.New("unknown kind")
	// ErrInvalid says that the input can never be accepted as it is.
	ErrInvalid = errors.New("invalid")
)

type snoozeError struct{ after time.Duration }

func (e *snoozeError) Error() string { return fmt.Sprintf("snoozed for %s", e.after) }

// Snooze returned by a handler brings the job back after d without spending an attempt.
// A negative d counts as 0.
func Snooze(d time.Duration) error { return &snoozeError{after: max(d, 0)} }

// SnoozedFor reports whether err is, or wraps, a Snooze, and for how long.
func SnoozedFor(err error) (time.Duration, bool) {
	var s *snoozeError
	if errors.As(err, &s) {
		return s.after, true
	}
	return 0, false
}

type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// Panicked is the error of work that panicked with value, for those who call handlers.
func Panicked(value any, stack []byte) error { return &panicError{value: value, stack: string(stack)} }

// StackOf answers the stack of a panic that err is, or wraps; "" where it is none.
func StackOf(err error) string {
	var p *panicError
	if errors.As(err, &p) {
		return p.stack
	}
	return ""
}

type discardError struct{ err error }

func (e *discardError) Error() string { return e.err.Error() }
func (e *discardError) Unwrap() error { return e.err }

// Discard returned by a handler ends the job as discarded with err as its last error, whatever attempts are left.
// A nil err counts as "discarded by its handler".
func Discard(err error) error {
	if err == nil {
		err = errors.New("discarded by its handler")
	}
	return &discardError{err: err}
}

// IsDiscard reports whether err is, or wraps, a Discard.
func IsDiscard(err error) bool {
	var d *discardError
	return errors.As(err, &d)
}
