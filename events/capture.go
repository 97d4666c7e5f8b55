package events

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/postbus/postbus/jobs"
)

// Op is a row change.
type Op string

const (
	// Insert is a new row.
	Insert Op = "insert"
	// Update is a change of a watched column.
	Update Op = "update"
	// Delete is a row's end. TRUNCATE is none.
	Delete Op = "delete"
)

// Capture records an event for every change of a table's rows, from triggers on the table, so that no write path can
// forget it and an update that changes nothing watched records nothing.
//
// The expressions are SQL over three rows: new, old (each null where the operation has none) and it (the new row, or the
// deleted one). They are evaluated by the role that writes the table, with search_path pg_catalog: functions and tables
// of other schemas are written with their schema. That role needs usage on schema postbus and execute on
// postbus.record(text, text, text, json); without them its writes fail. An expression that fails, or that gives an empty
// owner or subject, fails the write too.
//
// An update that moves a row to another partition fires as delete and insert; subscribers see both events. TRUNCATE
// records nothing.
type Capture struct {
	// Name is dotted lower-case words, at most 40 bytes, unique on the database.
	Name string `json:"name"`
	// Table is the table's name, with its schema where that is not on the search_path.
	Table string `json:"table"`
	// Type is the event type recorded. It must be declared.
	Type string `json:"type,omitempty"`
	// Types gives operations a type of their own in place of Type, which is not needed where all have one.
	Types map[Op]string `json:"types,omitempty"`
	// On lists the operations. Defaults to all three.
	On []Op `json:"on,omitempty"`
	// Watch lists the columns whose change makes an update count. Defaults to all.
	Watch []string `json:"watch,omitempty"`
	// Owner and Subject are expressions that give the event's owner and subject, for instance "it.owner_id".
	Owner   string `json:"owner"`
	Subject string `json:"subject"`
	// Data is an expression that gives json. Defaults to the operation and the primary key,
	// {"op": "update", "id": 7}, so that a wide row cannot fail the write.
	Data string `json:"data,omitempty"`
}

const maxCaptureName = 40

func checkCaptures(captures []Capture) error {
	seen := map[string]string{}
	for _, c := range captures {
		if err := c.check(); err != nil {
			return err
		}
		if first, twice := seen[c.function()]; twice {
			return fmt.Errorf("%w: capture %q is declared twice, as %q before: dots, dashes and underscores count as the same",
				ErrInvalid, c.Name, first)
		}
		seen[c.function()] = c.Name
	}
	return nil
}

func (c Capture) check() error {
	if err := jobs.CheckName("capture", c.Name); err != nil {
		return err
	}
	if len(c.Name) > maxCaptureName {
		return fmt.Errorf("%w: capture %q: its name has %d bytes; the limit is %d", ErrInvalid, c.Name, len(c.Name), maxCaptureName)
	}
	for _, op := range append(slices.Sorted(maps.Keys(c.Types)), c.On...) {
		if !slices.Contains(allOps(), op) {
			return fmt.Errorf("%w: capture %q: operation %q; use %q, %q or %q", ErrInvalid, c.Name, op, Insert, Update, Delete)
		}
	}
	for _, name := range c.typeNames() {
		if err := checkTypeName(name); err != nil {
			return fmt.Errorf("capture %q: %w", c.Name, err)
		}
	}
	for _, part := range []struct{ name, value string }{{"Table", c.Table}, {"Owner", c.Owner}, {"Subject", c.Subject}} {
		if strings.TrimSpace(part.value) == "" {
			return fmt.Errorf("%w: capture %q: %s must not be empty", ErrInvalid, c.Name, part.name)
		}
	}
	return nil
}

func allOps() []Op { return []Op{Insert, Update, Delete} }

// ops are the operations that it records, in the order of allOps.
func (c Capture) ops() []Op {
	if len(c.On) == 0 {
		return allOps()
	}
	return slices.DeleteFunc(allOps(), func(op Op) bool { return !slices.Contains(c.On, op) })
}

// typeOf is the type that an operation records.
func (c Capture) typeOf(op Op) string {
	if name, own := c.Types[op]; own {
		return name
	}
	return c.Type
}

// typeNames are the types that it records, each once, in the order of its operations.
func (c Capture) typeNames() (names []string) {
	for _, op := range c.ops() {
		if name := c.typeOf(op); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// function is the trigger function's name in schema postbus.
func (c Capture) function() string {
	return "capture_" + strings.NewReplacer(".", "_", "-", "_").Replace(c.Name)
}
