package gates

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// sqlRooms may write SQL in Go: they reach for the database before or below what sqlc can compile, or fill it whole.
var sqlRooms = []string{"pg", "internal/dbsqlc", "internal/devpg", "internal/seed"}

// mayWriteSQL says where SQL may stand in Go: in those rooms, in generated code, in test code, and in the files of events
// that build the row triggers, which are named capture*.go.
func mayWriteSQL(p *Package, f *File) bool {
	capture := p.Room == "events" && strings.HasPrefix(f.Base(), "capture")
	return p.forTests(f) || f.Generated || capture || p.in(sqlRooms...)
}

// statement matches text that begins as an SQL statement does, closely enough that an English sentence does not.
var statement = regexp.MustCompile(`(?is)^(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:` + strings.Join([]string{
	`select\s+(?:.*\bfrom\b|[\w."]+\(|\$?\d|\*|distinct\b|exists\b|case\b)`,
	`insert\s+into\s`,
	`update\s+(?:only\s+)?[\w."%$]+(?:\s+(?:as\s+)?\w+)?\s+set\s`,
	`delete\s+from\s`,
	`merge\s+into\s`,
	`with\s+(?:recursive\s+)?[\w"]+(?:\s*\([^)]*\))?\s+as\s+(?:(?:not\s+)?materialized\s+)?\(`,
	`(?:create|alter|drop)\s+(?:or\s+replace\s+)?(?:unique\s+|temp(?:orary)?\s+|unlogged\s+|constraint\s+|materialized\s+)?` +
		`(?:table|index|schema|view|sequence|(?:event\s+)?trigger|function|procedure|type|domain|role|user|database|extension|policy|publication|subscription|default\s+privileges|system)\s+[\w."%$(]`,
	`truncate\s+(?:table\s+)?[\w."%$]+\s*(?:,|;|cascade|restart|$)`,
	`(?:listen|unlisten|notify)\s+(?:[\w."%$]+|\*)\s*(?:,\s*'.*)?;?\s*$`,
	`(?:begin|commit|rollback)\s*(?:;|\b(?:work|transaction|to|isolation|read|prepared|and\s+chain)\b)`,
	`(?:release\s+)?savepoint\s+[\w"%$]+\s*;?\s*$`,
	`prepare\s+transaction\s`,
	`set\s+(?:local|session|role|search_path|constraints)\s`,
	`lock\s+table\s`,
	`(?:grant|revoke)\s+.+\s+on\s+.+\s+(?:to|from)\s`,
	`copy\s+[\w."%$(].*\s(?:from|to)\s+(?:stdin|stdout|'|program)`,
	`do\s+\$`,
	`values\s*\(`,
	`(?:where|and|or|order\s+by|group\s+by|having|limit|offset|returning|join|on\s+conflict)\s.*\$\d`,
}, "|") + `)`)

// callees hand text to the database.
var callees = []string{"Exec", "Query", "QueryRow", "Queue", "Prepare",
	"ExecContext", "QueryContext", "QueryRowContext", "PrepareContext"}

// checkSQL looks at both ends: text that reads as a statement, and calls that hand text to the database.
func checkSQL(m *Module) []Finding {
	const fix = "put the query into a .sql file under internal/dbsqlc and call what sqlc makes of it"
	outside := func(p *Package, f *File) bool { return !mayWriteSQL(p, f) }
	var found []Finding
	m.each(outside, func(f *File, n ast.Node) {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && statement.MatchString(text) {
				found = append(found, m.at(f, lit.Pos(), "SQL written in Go", fix))
			}
		}
	})
	passedOn := m.passedOn()
	for _, u := range m.mentions(outside, callees...) {
		database := u.fn == nil || isDriver(u.pkg()) || mentionsAny(u.signature(),
			"github.com/jackc/pgx/v5.Row", "github.com/jackc/pgx/v5/pgconn.", "database/sql.")
		if database && !passedOn[u.id] {
			found = append(found, m.at(u.file, u.id.Pos(), u.id.Name+" hands SQL to the database from Go", fix))
		}
	}
	return found
}
