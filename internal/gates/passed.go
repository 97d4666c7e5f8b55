package gates

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// passedOn finds the calls whose text was not written in Go: it is embedded from a file, or it is a parameter of a
// method that has the name of the one called and wraps it. Who calls the wrapper is looked at as any other caller.
func (m *Module) passedOn() map[*ast.Ident]bool {
	calls := map[*ast.Ident]bool{}
	for _, p := range m.Packages {
		embedded := map[types.Object]bool{}
		for _, f := range p.Files {
			f.embedded(embedded)
		}
		for _, f := range p.Files {
			for _, decl := range f.Syntax.Decls {
				if d, ok := decl.(*ast.FuncDecl); ok {
					f.markPassedOn(d, embedded, calls)
				}
			}
		}
	}
	return calls
}

func (f *File) markPassedOn(d *ast.FuncDecl, embedded map[types.Object]bool, calls map[*ast.Ident]bool) {
	params := map[types.Object]bool{}
	for _, field := range d.Type.Params.List {
		for _, name := range field.Names {
			params[f.defined(name)] = d.Recv != nil
		}
	}
	ast.Inspect(d, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		for _, arg := range call.Args {
			id, ok := arg.(*ast.Ident)
			if !ok {
				continue
			}
			obj, _ := f.use(id)
			v, ok := obj.(*types.Var)
			if ok && types.Identical(v.Type(), types.Typ[types.String]) &&
				(embedded[obj] || params[obj] && d.Name.Name == sel.Sel.Name) {
				calls[sel.Sel] = true
			}
		}
		return true
	})
}

// embedded adds the variables of the file that go:embed fills.
func (f *File) embedded(into map[types.Object]bool) {
	for _, decl := range f.Syntax.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Doc == nil || !slices.ContainsFunc(d.Doc.List, func(c *ast.Comment) bool {
			return strings.HasPrefix(c.Text, "//go:embed ")
		}) {
			continue
		}
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && len(v.Names) == 1 {
				into[f.defined(v.Names[0])] = true
			}
		}
	}
}

// defined is what an identifier declares; nil where types are missing.
func (f *File) defined(id *ast.Ident) types.Object {
	if f.info == nil {
		return nil
	}
	return f.info.Defs[id]
}
