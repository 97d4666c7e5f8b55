package jobs

import (
	"fmt"
	"regexp"
	"strings"
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
	if err := k.defaultQueue(); err != nil {
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
	if k.External {
		if err := CheckLease(k.Timeout); err != nil {
			return k, fmt.Errorf("kind %q: Timeout is the default lease: %w", k.Name, err)
		}
	}
	return k, nil
}

func (k *Kind) defaultQueue() error {
	own := ExternalQueues + k.Name
	switch {
	case k.External && k.Handle != nil:
		return fmt.Errorf("%w: kind %q is external and has a Handle: workers elsewhere do its work", ErrInvalid, k.Name)
	case k.External && k.Queue != "" && k.Queue != own:
		return fmt.Errorf("%w: kind %q is external and names the queue %q: it has the queue %q to itself", ErrInvalid, k.Name, k.Queue, own)
	case k.External:
		k.Queue = own
	case k.Handle == nil:
		return fmt.Errorf("%w: kind %q has no Handle", ErrInvalid, k.Name)
	case strings.HasPrefix(k.Queue, ExternalQueues):
		return fmt.Errorf("%w: kind %q: queues that begin with %q belong to external kinds", ErrInvalid, k.Name, ExternalQueues)
	case k.Queue == "":
		k.Queue = DefaultQueue
	}
	return CheckName("queue", k.Queue)
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
