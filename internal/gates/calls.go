package gates

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// mention is an identifier that refers to a function declared elsewhere, by call, as a value or through an interface.
type mention struct {
	file *File
	id   *ast.Ident
	fn   *types.Func // nil where types are missing.
}

// signature prints the function's type with full import paths; "" where types are missing.
func (u mention) signature() string {
	if u.fn == nil {
		return ""
	}
	return types.TypeString(u.fn.Signature(), nil)
}

// pkg is the import path that declares the function; "" where types are missing.
func (u mention) pkg() string {
	if u.fn == nil || u.fn.Pkg() == nil {
		return ""
	}
	return u.fn.Pkg().Path()
}

// mentions lists every use of a function or method with one of the names. Where types are missing, x.Name counts.
func (m *Module) mentions(keep func(*Package, *File) bool, names ...string) []mention {
	var all []mention
	m.each(keep, func(f *File, n ast.Node) {
		if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains(names, sel.Sel.Name) {
			if _, known := f.use(sel.Sel); !known {
				all = append(all, mention{file: f, id: sel.Sel})
			}
		}
		if id, ok := n.(*ast.Ident); ok && slices.Contains(names, id.Name) {
			obj, _ := f.use(id)
			if fn, ok := obj.(*types.Func); ok {
				all = append(all, mention{file: f, id: id, fn: fn})
			}
		}
	})
	return all
}

func checkBegin(m *Module) []Finding {
	var found []Finding
	for _, u := range m.begins(func(p *Package, f *File) bool { return !p.forTests(f) && !p.in("pg") }) {
		found = append(found, m.at(u.file, u.id.Pos(), u.id.Name+" is called outside pg",
			"use pg.InTx or pg.Nested, which roll back, and say what they were doing when they fail"))
	}
	return found
}

// begins lists what begins a transaction: of a driver's own, or of an interface that hands a driver's transaction out.
func (m *Module) begins(keep func(*Package, *File) bool) []mention {
	all := m.mentions(keep, "Begin", "BeginTx", "BeginFunc", "BeginTxFunc")
	return slices.DeleteFunc(all, func(u mention) bool {
		return u.fn != nil && !isDriver(u.pkg()) && !mentionsAny(u.signature(),
			"github.com/jackc/pgx/v5.Tx", "database/sql.Tx", "database/sql/driver.Tx")
	})
}

// isDriver says whether a package talks to the database itself.
func isDriver(path string) bool {
	return under(path, "github.com/jackc/pgx/v5") || under(path, "database/sql") || under(path, "github.com/riverqueue/river/riverdriver")
}

func mentionsAny(signature string, types ...string) bool {
	return slices.ContainsFunc(types, func(t string) bool { return strings.Contains(signature, t) })
}

func checkGoroutine(m *Module) []Finding {
	var found []Finding
	m.each(func(p *Package, f *File) bool { return !p.forTests(f) && !p.in("internal/loop", "pg") }, func(f *File, n ast.Node) {
		if stmt, ok := n.(*ast.GoStmt); ok {
			found = append(found, m.at(f, stmt.Pos(), "a bare go statement: nobody can stop this goroutine",
				"embed loop.Runner or loop.Ticker of internal/loop"))
		}
	})
	return found
}

func checkClock(m *Module) []Finding {
	var found []Finding
	keep := func(p *Package, f *File) bool { return f.Test || !p.in("internal/loop") }
	for _, u := range m.mentions(keep, "Sleep", "Tick", "NewTicker", "AfterFunc") {
		inLoop := strings.HasPrefix(u.file.Path, "internal/loop/")
		switch {
		case u.pkg() != "time" && !u.file.bare(u.id, "time"):
		case u.file.Test && u.id.Name == "Sleep":
			found = append(found, m.at(u.file, u.id.Pos(), "time.Sleep in a test",
				"wait for a signal, or poll a condition with internal/wait"))
		case !inLoop:
			found = append(found, m.at(u.file, u.id.Pos(), fmt.Sprintf("time.%s outside internal/loop", u.id.Name),
				"use loop.Ticker or loop.Sleep, which stop when the context does"))
		}
	}
	return found
}

// bare judges a selector without types: whether it is written as pkg.Name.
func (f *File) bare(id *ast.Ident, pkg string) bool {
	if _, known := f.use(id); known {
		return false
	}
	is := false
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel == id {
			x, ok := sel.X.(*ast.Ident)
			is = ok && x.Name == pkg
		}
		return !is
	})
	return is
}
