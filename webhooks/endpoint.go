package webhooks

import "time"

// Endpoint is where an owner's events are sent.
type Endpoint struct {
	ID          string
	OwnerID     string
	URL         string
	Description string
	// Types are globs over event types, as in a subscription.
	Types []string
	// Scope narrows the events further; the zero value takes all.
	Scope Scope
	// HeaderNames are the custom headers. Their values are sealed and never answered.
	HeaderNames []string
	// MaxInFlight is how many requests may be under way at a time, 1 to 32.
	MaxInFlight int
	// RatePerSecond bounds the requests a second, 1 to 1000; 0 is no bound.
	RatePerSecond int
	// Ordered sends the deliveries of a subject one after the other, by seq.
	Ordered bool

	Enabled bool
	// DisabledReason says why it is not enabled, and by whom.
	DisabledReason string
	DisabledAt     *time.Time
	// FailingSince is when the run of failures without a success began.
	FailingSince *time.Time
	// CooldownUntil is when the receiver wants to be asked again.
	CooldownUntil *time.Time

	CreatedAt, UpdatedAt time.Time
}

// Delivery is one event for one endpoint.
type Delivery struct {
	ID         string
	EndpointID string
	EventID    string
	EventType  string
	OwnerID    string
	Subject    string
	OccurredAt time.Time
	Origin     Origin
	State      DeliveryState
	// Reason says why it was skipped or discarded, or how its last attempt failed.
	Reason string
	// Attempts counts what was spent of the schedule; Tries every request, those that spent none included.
	Attempts, Tries int
	NextAttemptAt   *time.Time // of a pending one
	// InFlight says that a request is under way, or was when its process died.
	InFlight bool
	// Behind says that it waits for an earlier delivery of its subject.
	Behind         bool
	CreatedAt      time.Time
	ExpiresAt      time.Time
	SettledAt      *time.Time
	AcknowledgedAt *time.Time
}

// DeliveryState is where a delivery stands.
type DeliveryState string

const (
	// Pending deliveries wait for their first or next attempt.
	Pending DeliveryState = "pending"
	// Delivered ones were answered with 2xx.
	Delivered DeliveryState = "delivered"
	// Discarded ones were given up, for the reason they carry.
	Discarded DeliveryState = "discarded"
	// Skipped ones met a disabled endpoint and were never tried.
	Skipped DeliveryState = "skipped"
)

// Origin is what made a delivery.
type Origin string

const (
	// FromFanout deliveries were made when the event was fanned out.
	FromFanout Origin = "fanout"
	// FromReplay deliveries were made later, from history.
	FromReplay Origin = "replay"
	// FromTest deliveries were sent by hand to one endpoint.
	FromTest Origin = "test"
)

// Attempt is one request and its answer.
type Attempt struct {
	DeliveryID string
	N          int
	At         time.Time
	URL        string
	// Spent says whether it counts; it does not where the receiver asked to come back later.
	Spent   bool
	Status  int // 0: no answer
	Latency time.Duration
	Error   string
	Headers map[string][]string
	// Body has the first 16 KiB of the answer, as they came; Truncated says that there was more.
	Body      []byte
	Truncated bool
}
