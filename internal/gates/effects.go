package gates

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/postbus/postbus/lint"
)

// Rooms that may reach the world: webhooks and mail send from handlers, the command line is nobody's server. The examples and
// measurements are modules of their own and kept by what lint offers.
var (
	httpRooms = []string{"webhooks/internal/guard", "ops/cli", "cmd", "internal/browser", "internal/shots", "internal/devpg"}
	mailRooms = []string{"mail/internal/smtp"}
)

// retryRooms may wait in a loop and try again: they reach for the database, hold leases, are the queue and the relay, or (panel) look again
// at what people watch. What answers requests, or runs as a handler, leaves that to a job's attempts.
var retryRooms = []string{"internal", "pg", "jobs/river", "jobs/jobstest", "events", "webhooks", "panel", "cmd"}

// offered runs a rule that package lint offers to everybody over the whole tree, nested modules included.
func offered(rule string) func(*Module) []Finding {
	return func(m *Module) []Finding {
		all, err := lint.Dir(m.Dir, rule)
		if err != nil {
			return []Finding{{File: ".", Line: 1, What: err.Error(), Fix: "make the tree readable"}}
		}
		var found []Finding
		for _, f := range all {
			if f.Rule == rule { // what does not parse is in Module.Broken
				found = append(found, Finding{File: f.File, Line: f.Line, What: f.What, Fix: f.Fix})
			}
		}
		return found
	}
}

// checkEffects holds the rooms of the module to what they may use, judged by types, and the tree to what lint offers.
func checkEffects(m *Module) []Finding {
	found := offered("effects")(m)
	const fix = "record an event or enqueue a job, and let its handler do this through webhooks or mail"
	m.each(func(p *Package, f *File) bool { return !p.forTests(f) && !p.in(httpRooms...) }, func(f *File, n ast.Node) {
		id, ok := n.(*ast.Ident)
		if !ok {
			return
		}
		obj, _ := f.use(id)
		if obj == nil || obj.Pkg() == nil || obj.Pkg().Path() != "net/http" || !isPackageLevel(obj) {
			return
		}
		if slices.Contains(lint.Effects()["net/http"], id.Name) {
			found = append(found, m.at(f, id.Pos(), fmt.Sprintf("http.%s outside the rooms that reach the world", id.Name), fix))
		}
	})
	for _, p := range m.Packages {
		for _, f := range p.Files {
			for _, imp := range f.imports() {
				names, effect := lint.Effects()[imp.path]
				if effect && names == nil && !p.forTests(f) && !p.in(mailRooms...) {
					found = append(found, m.at(f, imp.pos, imp.path+" outside the rooms that reach the world", fix))
				}
			}
		}
	}
	return found
}

func isPackageLevel(obj types.Object) bool { return obj.Parent() == obj.Pkg().Scope() }

// checkRetry finds loop.Sleep and loop.Backoff in loops, which lint does not know, beside what it offers.
func checkRetry(m *Module) []Finding {
	found := offered("retry")(m)
	m.each(func(p *Package, f *File) bool { return !p.forTests(f) && !p.in(retryRooms...) }, func(f *File, n ast.Node) {
		var body *ast.BlockStmt
		switch n := n.(type) {
		case *ast.ForStmt:
			body = n.Body
		case *ast.RangeStmt:
			body = n.Body
		default:
			return
		}
		if !lint.JudgesError(n) {
			return
		}
		ast.Inspect(body, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			if obj, _ := f.use(id); obj != nil && obj.Pkg() != nil && isPackageLevel(obj) &&
				strings.HasSuffix(obj.Pkg().Path(), "/internal/loop") && (id.Name == "Sleep" || id.Name == "Backoff") {
				found = append(found, m.at(f, id.Pos(), "a loop waits and tries again",
					"let a job's handler return the error: its kind has attempts and a backoff"))
			}
			return true
		})
	})
	return found
}
