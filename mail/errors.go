package mail

import "errors"

var (
	// ErrNotFound says that nothing has this id.
	ErrNotFound = errors.New("not found")
	// ErrInvalid says that the input cannot be meant; the text names the field and what it may be.
	ErrInvalid = errors.New("invalid")
	// ErrConflict says that the thing's state forbids the act.
	ErrConflict = errors.New("conflict")
)
