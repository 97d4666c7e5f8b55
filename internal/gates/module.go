package gates

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// Module is a Go module as the rules see it: every package of it, parsed and type-checked with its tests.
type Module struct {
	Path     string
	Dir      string
	Packages []*Package
	Broken   []Finding // What did not compile: rules are half blind there.
	fset     *token.FileSet
	deps     map[string][]string // By import path, of every package that the module links, foreign ones too.
}

// Package is one package of the module with its tests, those of its _test package included.
type Package struct {
	Room  string // The import path below the module's: "jobs/river"; "" for the root.
	Name  string
	Dir   string
	Files []*File
}

// File is one Go file.
type File struct {
	Path      string // Relative to the module, with slashes.
	Test      bool
	Generated bool
	Lines     int
	Syntax    *ast.File
	info      *types.Info // nil where the build leaves the file out.
}

// Base is the name of the file without its folders.
func (f *File) Base() string { return filepath.Base(f.Path) }

// forTests says whether a file is test code: a test, or a file of a package that is made for tests. Such a package
// imports testing, which no room that users link may pull (see free).
func (p *Package) forTests(f *File) bool {
	return f.Test || slices.ContainsFunc(p.Files, func(f *File) bool {
		return !f.Test && slices.ContainsFunc(f.imports(), func(imp imported) bool { return imp.path == "testing" })
	})
}

// in says whether a package is one of the rooms or lies below one.
func (p *Package) in(rooms ...string) bool {
	for _, room := range rooms {
		if under(p.Room, room) {
			return true
		}
	}
	return false
}

// under says whether path is root or lies below it.
func under(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

// roomOf turns an import path of the module into a room; ok is false for a foreign path.
func (m *Module) roomOf(path string) (room string, ok bool) {
	if path == m.Path {
		return "", true
	}
	return strings.CutPrefix(path, m.Path+"/")
}

// at starts a finding at a place in a file.
func (m *Module) at(f *File, pos token.Pos, what, fix string) Finding {
	return Finding{File: f.Path, Line: m.fset.Position(pos).Line, What: what, Fix: fix}
}

// each calls visit for every node of every file of the packages that keep says true of.
func (m *Module) each(keep func(*Package, *File) bool, visit func(*File, ast.Node)) {
	for _, p := range m.Packages {
		for _, f := range p.Files {
			if !keep(p, f) {
				continue
			}
			ast.Inspect(f.Syntax, func(n ast.Node) bool {
				visit(f, n)
				return true
			})
		}
	}
}

// imported is one import declaration.
type imported struct {
	path string
	pos  token.Pos
}

func (f *File) imports() []imported {
	var all []imported
	for _, spec := range f.Syntax.Imports {
		all = append(all, imported{strings.Trim(spec.Path.Value, "`\""), spec.Pos()})
	}
	return all
}

// use resolves an identifier that refers to something declared elsewhere. Where types are missing it returns "" and
// known is false: the caller judges by the name.
func (f *File) use(id *ast.Ident) (obj types.Object, known bool) {
	if f.info == nil {
		return nil, false
	}
	if obj, ok := f.info.Uses[id]; ok {
		return obj, true
	}
	_, declared := f.info.Defs[id]
	return nil, declared
}

func (m *Module) broken(file string, line int, what string) {
	m.Broken = append(m.Broken, Finding{
		File: file, Line: line, Rule: "compile", What: what,
		Fix: "make it compile: the rules are half blind here",
	})
}

func shown(room string) string {
	if room == "" {
		return "the root package"
	}
	return fmt.Sprintf("%q", room)
}
