package gates

import (
	"fmt"
	"strings"
)

// sees draws the arrows: the rooms that each room may import. A room covers the folders below it that have no row of
// their own, and sees itself. "" is the root package, the façade. A new room needs a row.
var sees = map[string][]string{
	"internal/loop":       {},
	"internal/gates":      {"lint"},
	"internal/tracing":    {},
	"internal/browser":    {},
	"internal/dbsqlc":     {},
	"internal/shots":      {"internal/browser"},
	"internal/measure":    {"pg", "internal/loop", "internal/dbsqlc"},
	"internal/devpg":      {"internal/loop"},
	"internal/wait":       {"internal/loop"},
	"internal/instance":   {"pg", "internal/loop", "internal/dbsqlc"},
	"internal/faultproxy": {"internal/loop"},
	"internal/snippets":   {},
	"internal/chaos":      {"", "webhooks", "events", "jobs", "pg", "internal/devpg", "internal/faultproxy", "internal/testdb", "internal/loop"},
	"internal/seed":       {},
	"internal/testdb":     {"internal/devpg", "internal/wait", "pg"},

	"lint":          {},
	"docs/model":    {},
	"pg":            {"internal/loop", "internal/dbsqlc"},
	"jobs":          {"pg", "internal/loop"},
	"jobs/river":    {"jobs", "pg", "internal/instance", "internal/loop", "internal/dbsqlc", "internal/tracing", "internal/measure"},
	"jobs/bulk":     {"jobs", "pg", "internal/dbsqlc"},
	"jobs/jobstest": {"jobs", "pg", "internal/testdb", "internal/wait", "internal/loop"},
	"events":        {"jobs", "pg", "internal/loop", "internal/dbsqlc", "internal/tracing", "internal/measure"},

	"webhooks": {"events", "jobs", "pg", "internal/loop", "internal/dbsqlc", "internal/tracing", "internal/measure"},
	"mail":     {"events", "jobs", "pg", "internal/loop", "internal/dbsqlc"},
	"work":     {"events", "jobs", "pg", "internal/loop", "internal/dbsqlc"},

	"ops":      {"webhooks", "mail", "work", "events", "jobs/bulk", "jobs", "pg", "internal/dbsqlc", "internal/measure"},
	"ops/http": {"ops", "webhooks", "mail", "work", "events", "jobs/bulk", "jobs", "internal/tracing"},
	"ops/mcp":  {"ops", "webhooks", "mail", "work", "events", "jobs/bulk", "jobs"},
	"ops/cli":  {"ops", "webhooks", "mail", "work", "events", "jobs/bulk", "jobs"},
	"panel":    {"ops", "webhooks", "mail", "work", "events", "jobs", "pg", "internal/loop", "internal/dbsqlc"},

	"panel/paneltest": {"", "postbustest", "panel", "ops/http", "ops", "webhooks", "mail", "work", "events", "jobs/river", "jobs", "pg",
		"internal/browser", "internal/testdb", "internal/wait"},

	"": {"ops", "webhooks", "mail", "work", "events", "jobs/bulk", "jobs/river", "jobs", "pg", "internal/instance", "internal/loop",
		"internal/dbsqlc", "internal/tracing", "internal/measure"},
	"postbustest": {"", "webhooks", "mail", "work", "events", "jobs/river", "jobs", "pg",
		"internal/testdb", "internal/devpg", "internal/wait", "internal/loop", "internal/dbsqlc"},
	"cmd": {"", "lint", "panel", "ops/http", "ops/mcp", "ops/cli", "ops", "webhooks", "mail", "work", "events", "jobs/river",
		"jobs", "pg", "internal/devpg", "internal/loop", "internal/tracing"},
	"examples": {"", "postbustest", "panel", "ops/http", "ops/mcp", "ops/cli", "ops", "webhooks", "mail", "work", "events",
		"jobs/river", "jobs", "pg", "internal/devpg"},
}

// tops are the rooms at the top: a test, which may reach across otherwise, sees one only where its package does.
// postbustest is at the top too, but is made for tests.
var tops = []string{"", "panel", "ops/http", "ops/mcp", "ops/cli", "cmd", "panel/paneltest", "examples"}

// rowOf finds the row that covers a room.
func rowOf(room string) (row string, ok bool) {
	for row = room; ; {
		if _, ok := sees[row]; ok {
			return row, true
		}
		cut := strings.LastIndex(row, "/")
		if cut < 0 {
			return "", false
		}
		row = row[:cut]
	}
}

func checkArrows(m *Module) []Finding {
	var found []Finding
	for _, p := range m.Packages {
		from, ok := rowOf(p.Room)
		if !ok {
			found = append(found, m.atPackage(p, "the room "+shown(p.Room)+" has no row in the table of arrows",
				"say in internal/gates/arrows.go what it may see"))
			continue
		}
		for _, f := range p.Files {
			for _, imp := range f.imports() {
				to, ours := m.roomOf(imp.path)
				if !ours || allowed(from, to, f.Test) {
					continue
				}
				found = append(found, m.at(f, imp.pos,
					fmt.Sprintf("%s must not see %s: arrows point down only", shown(from), shown(to)),
					"move what is needed below both, or hand it in from above"))
			}
		}
	}
	return found
}

// allowed says whether an arrow stands in the table.
func allowed(from, to string, test bool) bool {
	row, ok := rowOf(to)
	if !ok {
		return true // Reported once, at the room itself.
	}
	if row == from {
		return true
	}
	for _, seen := range sees[from] {
		if seen == row {
			return true
		}
	}
	if !test {
		return false
	}
	for _, top := range tops {
		if row == top {
			return false
		}
	}
	return true
}

// atPackage starts a finding about a package as a whole: at the package clause of its first file.
func (m *Module) atPackage(p *Package, what, fix string) Finding {
	if len(p.Files) == 0 {
		return Finding{File: m.rel(p.Dir), Line: 1, What: what, Fix: fix}
	}
	return m.at(p.Files[0], p.Files[0].Syntax.Package, what, fix)
}
