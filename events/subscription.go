package events

import (
	"context"
	"fmt"
	"time"

	"github.com/postbus/postbus/jobs"
)

// Effect says what a subscription's handler does to the outside.
type Effect string

const (
	// State handlers bring something to the current state, such as an index. It is what the zero value means.
	State Effect = ""
	// Mail handlers send mail.
	Mail Effect = "mail"
	// Delivery handlers send webhooks. They are told only of types whose exposure is Webhook.
	Delivery Effect = "webhook"
)

// Subscription declares who is told of which events: each matching event becomes one job of the subscription's name.
type Subscription struct {
	// Name is also the job kind's name: dotted lower-case words, at most 120 bytes, unique on the database.
	Name string
	// Types are globs over event types: "corpus.note_changed", "corpus.*", "*". Each but "*" must match a declared type at boot.
	Types []string
	// Coalesce makes one job per owner and subject for the events of one pass, for the latest of them. Right for a handler
	// that reads the subject's current state; refused with the effects Mail and Delivery, where two events are two facts.
	Coalesce bool
	// Effect defaults to State.
	Effect Effect
	// Shared lets several applications declare the subscription, all meaning the same: an event makes one job, which any of
	// them runs. A name is either shared or one application's. Defaults to false.
	Shared bool
	// Queue, MaxAttempts, Timeout, Backoff, Receipt and HoldsConn are those of the job kind, with its defaults.
	Queue       string
	MaxAttempts int
	Timeout     time.Duration
	Backoff     jobs.Backoff
	Receipt     bool
	HoldsConn   bool
	// Handle does the work. It runs at least once for an event and must be idempotent.
	Handle func(ctx context.Context, event Event) error
}

// kind is the job kind that runs the subscription, checked and with its defaults.
func (s Subscription) kind(handle jobs.Handler) (jobs.Kind, error) {
	return jobs.Kind{
		Name: s.Name, Queue: s.Queue, MaxAttempts: s.MaxAttempts, Timeout: s.Timeout, Backoff: s.Backoff,
		Receipt: s.Receipt, HoldsConn: s.HoldsConn, Handle: handle,
	}.WithDefaults()
}

func (s Subscription) check() error {
	switch {
	case s.Handle == nil:
		return fmt.Errorf("%w: subscription %q has no Handle", ErrInvalid, s.Name)
	case len(s.Types) == 0:
		return fmt.Errorf("%w: subscription %q names no types: use \"*\" for all", ErrInvalid, s.Name)
	case s.Coalesce && s.Effect != State:
		return fmt.Errorf("%w: subscription %q: Coalesce is refused with the effect %q: two events are two facts there",
			ErrInvalid, s.Name, s.Effect)
	}
	for _, glob := range s.Types {
		if err := checkGlob(glob); err != nil {
			return fmt.Errorf("subscription %q: %w", s.Name, err)
		}
	}
	return nil
}
