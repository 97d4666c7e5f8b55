package events

import "errors"

var (
	// ErrUndeclaredType says that an event's type is declared by nobody.
	ErrUndeclaredType = errors.New("event type is not declared")
	// ErrInvalid says that the input can never be accepted as it is.
	ErrInvalid = errors.New("invalid")
	// ErrNotFound says that the event does not exist, or has been pruned.
	ErrNotFound = errors.New("event not found")
	// ErrNotPoisoned says that only a poisoned event can be requeued.
	ErrNotPoisoned = errors.New("event is not poisoned")
	// ErrConflict says that an event with this id stands already, and says something else.
	ErrConflict = errors.New("conflict")
	// ErrReplayNotFound says that the replay does not exist, or has been pruned.
	ErrReplayNotFound = errors.New("replay not found")
	// ErrForeignName says that a name belongs to another application on this database.
	ErrForeignName = errors.New("name belongs to another application")
)
