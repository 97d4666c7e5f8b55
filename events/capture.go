package events

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

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
	Name string
	// Table is the table's name, with its schema where that is not on the search_path.
	Table string
	// Type is the event type recorded. It must be declared.
	Type string
	// On lists the operations. Defaults to all three.
	On []Op
	// Watch lists the columns whose change makes an update count. Defaults to all.
	Watch []string
	// Owner and Subject are expressions that give the event's owner and subject, for instance "it.owner_id".
	Owner, Subject string
	// Data is an expression that gives json. Defaults to the operation and the primary key,
	// {"op": "update", "id": 7}, so that a wide row cannot fail the write.
	Data string
}

const maxCaptureName = 40

func checkCaptures(captures []Capture) error {
	seen := map[string]bool{}
	for _, c := range captures {
		if err := c.check(); err != nil {
			return err
		}
		if seen[c.Name] {
			return fmt.Errorf("%w: capture %q is declared twice", ErrInvalid, c.Name)
		}
		seen[c.Name] = true
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
	if err := checkTypeName(c.Type); err != nil {
		return fmt.Errorf("capture %q: %w", c.Name, err)
	}
	for _, part := range []struct{ name, value string }{{"Table", c.Table}, {"Owner", c.Owner}, {"Subject", c.Subject}} {
		if strings.TrimSpace(part.value) == "" {
			return fmt.Errorf("%w: capture %q: %s must not be empty", ErrInvalid, c.Name, part.name)
		}
	}
	for _, op := range c.On {
		if op != Insert && op != Update && op != Delete {
			return fmt.Errorf("%w: capture %q: operation %q; use %q, %q or %q", ErrInvalid, c.Name, op, Insert, Update, Delete)
		}
	}
	return nil
}

func (c Capture) on(op Op) bool {
	if len(c.On) == 0 {
		return true
	}
	for _, o := range c.On {
		if o == op {
			return true
		}
	}
	return false
}

// function is the trigger function's name in schema postbus.
func (c Capture) function() string {
	return "capture_" + strings.NewReplacer(".", "_", "-", "_").Replace(c.Name)
}

// captureSQL is everything that a capture puts into the database.
type captureSQL struct {
	function string // its body
	triggers map[string]string
	note     string // the function's comment: application and hash of the above
}

// build writes the SQL. Names go through the driver's quoting; expressions are the declaration's own, as SQL.
func (c Capture) build(app string, key []string) captureSQL {
	data := c.Data
	if strings.TrimSpace(data) == "" {
		data = keyData(key)
	}
	s := captureSQL{triggers: map[string]string{}}
	s.function = fmt.Sprintf(`
declare
    it record;
begin
    if tg_op = 'DELETE' then it := old; else it := new; end if;
    perform postbus.record((%s)::text, %s, (%s)::text, (%s)::json);
    return null;
end
`, c.Owner, literal(c.Type), c.Subject, data)
	for _, op := range []Op{Insert, Update, Delete} {
		if c.on(op) {
			s.triggers["postbus_"+c.function()+"_"+string(op)] = c.trigger(op)
		}
	}
	sum := sha256.Sum256([]byte(s.function + fmt.Sprint(s.triggers)))
	s.note = app + " " + hex.EncodeToString(sum[:8])
	return s
}

func (c Capture) trigger(op Op) string {
	name := pgx.Identifier{"postbus_" + c.function() + "_" + string(op)}.Sanitize()
	when := ""
	if op == Update {
		when = " when (" + c.changed() + ")"
	}
	return fmt.Sprintf("create trigger %s after %s on %s for each row%s execute function %s()",
		name, op, c.table(), when, pgx.Identifier{"postbus", c.function()}.Sanitize())
}

func (c Capture) changed() string {
	if len(c.Watch) == 0 {
		return "old.* is distinct from new.*"
	}
	var conds []string
	for _, column := range c.Watch {
		col := pgx.Identifier{column}.Sanitize()
		conds = append(conds, fmt.Sprintf("old.%s is distinct from new.%s", col, col))
	}
	return strings.Join(conds, " or ")
}

func (c Capture) table() string { return pgx.Identifier(strings.Split(c.Table, ".")).Sanitize() }

// keyData is the default data: the operation and the primary key's columns.
func keyData(key []string) string {
	parts := []string{"'op'", "pg_catalog.lower(tg_op)"}
	for _, column := range key {
		parts = append(parts, literal(column), "it."+pgx.Identifier{column}.Sanitize())
	}
	return "pg_catalog.json_build_object(" + strings.Join(parts, ", ") + ")"
}

// literal quotes a string for SQL with standard_conforming_strings on, as install sets it.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
