package pg

import "time"

// Hearing says whether notifications reach a Listener.
type Hearing string

const (
	// Hears: the last self-probe arrived.
	Hears Hearing = "hearing"
	// Deaf: connected, and the self-probe does not arrive, as behind a pooler in transaction mode; also while such a connection is
	// made anew.
	Deaf Hearing = "deaf"
	// Off: not started, not connected, or connected and not proven to hear yet.
	Off Hearing = "off"
)

// ListenerState is how a Listener stands, and since when.
type ListenerState struct {
	Hearing Hearing
	Since   time.Time
}

// State answers how the listener stands.
func (l *Listener) State() ListenerState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// noteState follows hears and deaf. The lock must be held.
func (l *Listener) noteState() {
	now := Off
	switch {
	case l.deaf:
		now = Deaf
	case l.hears:
		now = Hears
	}
	if now != l.state.Hearing {
		l.state = ListenerState{Hearing: now, Since: time.Now()}
	}
}
