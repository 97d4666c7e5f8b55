package events

import (
	"fmt"
	"regexp"
)

// Exposure says how far an event type may travel.
type Exposure string

const (
	// Internal events never leave the process as a webhook. It is what the zero value means.
	Internal Exposure = "internal"
	// Webhook events may be delivered to endpoints.
	Webhook Exposure = "webhook"
)

// Type declares one event type.
type Type struct {
	// Name is dotted lower-case words (a-z, 0-9, _), at most 120 bytes, for instance "corpus.note_changed".
	Name string
	// Description tells a reader what happened when this is recorded.
	Description string
	// Subject tells what an event's subject is, for instance "note id".
	Subject string
	// Exposure defaults to Internal.
	Exposure Exposure
}

const maxNameBytes = 120

var typeForm = regexp.MustCompile(`^[a-z0-9_]+(\.[a-z0-9_]+)*$`)

func checkTypeName(name string) error {
	if len(name) > maxNameBytes || !typeForm.MatchString(name) {
		return fmt.Errorf("%w: event type %q: use dotted lower-case words (a-z, 0-9, _), at most %d bytes",
			ErrInvalid, name, maxNameBytes)
	}
	return nil
}

func (t Type) withDefaults() (Type, error) {
	if err := checkTypeName(t.Name); err != nil {
		return t, err
	}
	switch t.Exposure {
	case "":
		t.Exposure = Internal
	case Internal, Webhook:
	default:
		return t, fmt.Errorf("%w: event type %q: exposure %q is not known: use %q or %q",
			ErrInvalid, t.Name, t.Exposure, Internal, Webhook)
	}
	return t, nil
}
