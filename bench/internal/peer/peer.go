package peer

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/bench/internal/rig"
)

// System is one way to come from a committed change to handlers.
type System struct {
	// Name is short, of a-z and _.
	Name string
	Setup
	open func(ctx context.Context, db *rig.Database, subscribers int) (Instance, error)
}

// Setup says what a system is, for the report.
type Setup struct {
	Title, Version, How string
	// Durable systems keep a retry for each (event, subscriber).
	Durable bool
}

// Instance is a system in a database of its own.
type Instance interface {
	// Record writes the event numbered n through tx, with whatever its subscribers need.
	Record(ctx context.Context, tx pgx.Tx, n int, data []byte) error
	// Start has handled called for each event and subscriber, until stop. It is called from many goroutines.
	Start(ctx context.Context, handled Handled) (stop func(ctx context.Context) error, err error)
}

// Handled is what every handler does.
type Handled func(subscriber, event int)

// Open prepares the system's tables for so many subscribers.
func (s System) Open(ctx context.Context, db *rig.Database, subscribers int) (Instance, error) {
	instance, err := s.open(ctx, db, subscribers)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return instance, nil
}

// All are the systems that are compared.
func All() []System {
	return []System{
		postbusPlain(), postbusWide(), watermillGroups(), outboxEach(), outboxShared(), riverDefault(), riverTuned(), gueJobs(),
	}
}

// Named answers the system of a name.
func Named(name string) (System, error) {
	for _, s := range append(All(), watermillQueue()) {
		if s.Name == name {
			return s, nil
		}
	}
	return System{}, fmt.Errorf("no system is named %q", name)
}

const (
	conns = 16
	app   = "bench" // of Postbus
	topic = "bench" // of Watermill
	owner = "owner"
)

// EventType is the type of Postbus's events.
const EventType = "bench.changed"

// Data is the payload of event n: JSON of the given size, or little more where that is too small.
func Data(n, size int) []byte {
	head := `{"n":` + strconv.Itoa(n) + `,"pad":"`
	return []byte(head + strings.Repeat("x", max(0, size-len(head)-2)) + `"}`)
}

// numberOf reads n back. The payload is read as bytes, so that no system pays for a parser that another does not use.
func numberOf(data []byte) int {
	digits, _, _ := strings.Cut(strings.TrimPrefix(string(data), `{"n":`), ",")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1
	}
	return n
}

// subscriber names number s.
func subscriber(s int) string { return "s" + strconv.Itoa(s) }

// subscriberOf reads s back.
func subscriberOf(name string) int {
	s, err := strconv.Atoi(strings.TrimPrefix(name, "s"))
	if err != nil {
		return -1
	}
	return s
}
