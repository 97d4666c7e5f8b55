package events

import (
	"context"
	"encoding/json"
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
	// Batch makes wide jobs: the subscription's events of one pass, up to this many, share one job, which hands them to Handle one
	// by one. 0 and 1 make a job an event. An event that fails, is snoozed or discarded goes on as a job of its own, with its attempt
	// spent and its error kept; the others are done. A crash repeats the events of at most the job that ran. At low load, where a
	// pass has one event, nothing changes. Timeout is an event's, and a job hands what it has not come to within 10 s to another.
	// Range 0 to 1,000. Refused with Coalesce, External, Kept, Receipt and the effects Mail and Delivery.
	Batch int
	// Effect defaults to State.
	Effect Effect
	// Shared lets several applications declare the subscription, all meaning the same: an event makes one job, which any of
	// them runs. A name is either shared or one application's. Defaults to false.
	Shared bool
	// Kept says that somebody else keeps the subscription's row in postbus.subscriptions, under its name as the declaration, and with it
	// its types, queue and attempts: this process runs its jobs and proves it alive. Types is then empty.
	Kept bool
	// Queue, MaxAttempts, Timeout, Backoff, Receipt and HoldsConn are those of the job kind, with its defaults.
	Queue       string
	MaxAttempts int
	Timeout     time.Duration
	Backoff     jobs.Backoff
	Receipt     bool
	HoldsConn   bool
	// External says that workers outside of Go processes do the work: see jobs.Kind.External and package work. Such a subscription
	// has no Handle and no Queue.
	External bool
	// Handle does the work. It runs at least once for an event and must be idempotent.
	Handle func(ctx context.Context, event Event) error
	// HandleAll does the work of a wide job in one call, in place of Handle, for 1 to Batch events, the earliest recorded first. Nil
	// says that all are done. A [Failed] names those that are not; by any other error all of them failed, and each goes on alone.
	HandleAll func(ctx context.Context, events []Event) error
}

// kind is the job kind that runs the subscription, checked and with its defaults. What runs is the bus's to say.
func (s Subscription) kind() (jobs.Kind, error) {
	kind := jobs.Kind{
		Name: s.Name, Queue: s.Queue, MaxAttempts: s.MaxAttempts, Timeout: s.Timeout, Backoff: s.Backoff,
		Receipt: s.Receipt, HoldsConn: s.HoldsConn, External: s.External,
	}
	if !s.External {
		kind.Handle = func(context.Context, json.RawMessage) error { return nil }
	}
	return kind.WithDefaults()
}

func (s Subscription) check() error {
	switch {
	case s.Handle == nil && s.HandleAll == nil && !s.External:
		return fmt.Errorf("%w: subscription %q has no Handle", ErrInvalid, s.Name)
	case s.Handle != nil && s.HandleAll != nil:
		return fmt.Errorf("%w: subscription %q has a Handle and a HandleAll: leave out one of them", ErrInvalid, s.Name)
	case s.External && (s.Handle != nil || s.HandleAll != nil):
		return fmt.Errorf("%w: subscription %q is external and has a Handle: workers elsewhere do its work", ErrInvalid, s.Name)
	case s.Kept && len(s.Types) > 0:
		return fmt.Errorf("%w: subscription %q names types and is kept by somebody else: leave out one of them", ErrInvalid, s.Name)
	case len(s.Types) == 0 && !s.Kept:
		return fmt.Errorf("%w: subscription %q names no types: use \"*\" for all", ErrInvalid, s.Name)
	case s.Coalesce && s.Effect != State:
		return fmt.Errorf("%w: subscription %q: Coalesce is refused with the effect %q: two events are two facts there",
			ErrInvalid, s.Name, s.Effect)
	}
	if err := s.checkBatch(); err != nil {
		return err
	}
	for _, glob := range s.Types {
		if err := checkGlob(glob); err != nil {
			return fmt.Errorf("subscription %q: %w", s.Name, err)
		}
	}
	return nil
}

// maxBatch is how many events a wide job has at most: what a pass may claim.
const maxBatch = 1000

func (s Subscription) checkBatch() error {
	if s.Batch < 0 || s.Batch > maxBatch {
		return fmt.Errorf("%w: subscription %q: Batch is %d; use 0 to %d", ErrInvalid, s.Name, s.Batch, maxBatch)
	}
	if s.Batch <= 1 {
		if s.HandleAll != nil {
			return fmt.Errorf("%w: subscription %q has a HandleAll and no Batch: say how many events it takes, or use Handle", ErrInvalid, s.Name)
		}
		return nil
	}
	for _, refused := range []struct {
		is   bool
		what string
	}{
		{s.Coalesce, "Coalesce: a job of the latest event has nothing to share"},
		{s.External, "External: workers elsewhere claim as many jobs as they like at once"},
		{s.Kept, "Kept: who keeps the row says how wide its jobs are"},
		{s.Receipt, "Receipt: who waits for one event would wait for all of its job"},
		{s.Effect != State, "the effect " + string(s.Effect) + ": a crash would repeat all of a job's"},
	} {
		if refused.is {
			return fmt.Errorf("%w: subscription %q: Batch is refused with %s: leave out one of them", ErrInvalid, s.Name, refused.what)
		}
	}
	return nil
}
