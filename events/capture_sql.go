package events

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
)

// captureSQL is everything that a capture puts into the database.
type captureSQL struct {
	function string // its body
	triggers map[string]string
	note     captureNote
}

// build writes the SQL. Names go through the driver's quoting; expressions are the declaration's own, as SQL.
func (c Capture) build(app string, key []string) captureSQL {
	s := captureSQL{triggers: map[string]string{}}
	s.function = fmt.Sprintf(`
declare
    it record;
begin
    if tg_op = 'DELETE' then it := old; else it := new; end if;
    perform postbus.record((%s)::text, %s, (%s)::text, (%s)::json);
    return null;
end
`, c.Owner, c.typeSQL(), c.Subject, c.data(key))
	for _, op := range c.ops() {
		s.triggers["postbus_"+c.function()+"_"+string(op)] = c.trigger(op)
	}
	sum := sha256.Sum256([]byte(s.function + fmt.Sprint(s.triggers)))
	s.note = captureNote{app: app, hash: hex.EncodeToString(sum[:8]), declared: c}
	return s
}

// typeSQL is the type as an expression.
func (c Capture) typeSQL() string {
	names := c.typeNames()
	if len(names) == 1 {
		return literal(names[0])
	}
	cases := "case tg_op"
	for _, op := range c.ops() {
		cases += fmt.Sprintf(" when %s then %s", literal(strings.ToUpper(string(op))), literal(c.typeOf(op)))
	}
	return cases + " end"
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

// data is the expression, or the default: the operation and the primary key's columns.
func (c Capture) data(key []string) string {
	if strings.TrimSpace(c.Data) != "" {
		return c.Data
	}
	parts := []string{"'op'", "pg_catalog.lower(tg_op)"}
	for _, column := range key {
		parts = append(parts, literal(column), "it."+pgx.Identifier{column}.Sanitize())
	}
	return "pg_catalog.json_build_object(" + strings.Join(parts, ", ") + ")"
}

// statements put the capture in the place of what there is.
func (s captureSQL) statements(c Capture, now []eventsql.CaptureTriggersRow) []string {
	fn := pgx.Identifier{"postbus", c.function()}.Sanitize()
	out := []string{
		"create or replace function " + fn + "() returns trigger language plpgsql" +
			" set search_path = pg_catalog, pg_temp as " + literal(s.function),
		"comment on function " + fn + "() is " + literal(s.note.String()),
	}
	for _, t := range now {
		out = append(out, "drop trigger "+pgx.Identifier{t.Name}.Sanitize()+" on "+t.TableName)
	}
	for _, name := range slices.Sorted(maps.Keys(s.triggers)) {
		out = append(out, s.triggers[name])
	}
	return out
}

// captureNote is the comment on a capture's function: who installed it, a hash of its SQL, and what was
// declared, for those who look.
type captureNote struct {
	app, hash string
	declared  Capture
}

// String writes the comment.
func (n captureNote) String() string {
	declared, err := json.Marshal(n.declared)
	if err != nil {
		declared = nil // of texts: cannot be
	}
	return n.app + " " + n.hash + " " + string(declared)
}

// readNote reads the comment. A comment that somebody else wrote gives a note without a hash.
func readNote(comment string) (n captureNote) {
	var declared string
	n.app, declared, _ = strings.Cut(comment, " ")
	n.hash, declared, _ = strings.Cut(declared, " ")
	if json.Unmarshal([]byte(declared), &n.declared) != nil {
		n.declared = Capture{}
	}
	return n
}

// same says that two captures are one application's with one SQL.
func (n captureNote) same(other captureNote) bool { return n.app == other.app && n.hash == other.hash }

// literal quotes a string for SQL with standard_conforming_strings on, as bring sets it.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
