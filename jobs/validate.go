package jobs

import (
	"fmt"
	"regexp"
	"time"
)

// Defaults of a Kind and a Periodic.
const (
	DefaultQueue       = "default"
	DefaultMaxAttempts = 8
	DefaultTimeout     = time.Minute
	MaintenanceQueue   = "maintenance"
)

const (
	maxNameBytes        = 120
	maxAttemptsLimit    = 1000
	periodicMinInterval = time.Second
	periodicTimeout     = 5 * time.Minute
)

var nameForm = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)

// CheckName reports why name cannot name a kind, a queue, a periodic or a subscription. what says which, for the error.
func CheckName(what, name string) error {
	if len(name) > maxNameBytes || !nameForm.MatchString(name) {
		return fmt.Errorf("%w: %s name %q: use dotted lower-case words (a-z, 0-9, _ and -), at most %d bytes",
			ErrInvalid, what, name, maxNameBytes)
	}
	return nil
}

// WithDefaults answers the kind with its defaults filled in, or why it cannot be declared.
func (k Kind) WithDefaults() (Kind, error) {
	if err := CheckName("kind", k.Name); err != nil {
		return k, err
	}
	if k.Handle == nil {
		return k, fmt.Errorf("%w: kind %q has no Handle", ErrInvalid, k.Name)
	}
	if k.Queue == "" {
		k.Queue = DefaultQueue
	}
	if err := CheckName("queue", k.Queue); err != nil {
		return k, err
	}
	if k.MaxAttempts == 0 {
		k.MaxAttempts = DefaultMaxAttempts
	}
	if err := CheckMaxAttempts(k.Name, k.MaxAttempts); err != nil {
		return k, err
	}
	if k.Timeout == 0 {
		k.Timeout = DefaultTimeout
	}
	if k.Backoff == nil {
		k.Backoff = DefaultBackoff
	}
	return k, nil
}

// CheckMaxAttempts reports why a kind cannot have n attempts.
func CheckMaxAttempts(kind string, n int) error {
	if n < 1 || n > maxAttemptsLimit {
		return fmt.Errorf("%w: kind %q: MaxAttempts is %d; use 1 to %d", ErrInvalid, kind, n, maxAttemptsLimit)
	}
	return nil
}

// WithDefaults answers the periodic with its defaults filled in, or why it cannot be declared.
// Whether Cron can be read is the scheduler's to say.
func (p Periodic) WithDefaults() (Periodic, error) {
	if err := CheckName("periodic", p.Name); err != nil {
		return p, err
	}
	if p.Run == nil {
		return p, fmt.Errorf("%w: periodic %q has no Run", ErrInvalid, p.Name)
	}
	if (p.Every == 0) == (p.Cron == "") {
		return p, fmt.Errorf("%w: periodic %q: give either Every or Cron", ErrInvalid, p.Name)
	}
	if p.Cron == "" && p.Every < periodicMinInterval {
		return p, fmt.Errorf("%w: periodic %q: Every is %s; the shortest is %s", ErrInvalid, p.Name, p.Every, periodicMinInterval)
	}
	if p.Timeout == 0 {
		p.Timeout = periodicTimeout
	}
	return p, nil
}
