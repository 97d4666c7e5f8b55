package webhooks

import "errors"

var (
	// ErrNotFound says that nothing has this id.
	ErrNotFound = errors.New("not found")
	// ErrInvalid says that the input cannot be meant; the text names the field and what it may be.
	ErrInvalid = errors.New("invalid")
	// ErrConflict says that the thing's state forbids the act, for instance sending to a disabled endpoint.
	ErrConflict = errors.New("conflict")
	// ErrNoKey says that secrets cannot be sealed or opened with the configured keys.
	ErrNoKey = errors.New("no key")
)
