package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// source is one Go file of a package.
type source struct {
	name   string
	fset   *token.FileSet
	syntax *ast.File
}

// parse reads the Go files of each folder. Tests may do as they like, and so may packages made for them.
func (t *tree) parse() {
	all := map[string][]source{}
	for _, name := range t.names(func(name string) bool { return path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") }) {
		fset := token.NewFileSet()
		syntax, err := parser.ParseFile(fset, name, t.files[name], parser.SkipObjectResolution)
		if err != nil {
			t.broken = append(t.broken, Finding{File: name, Line: 1, Rule: "parse", What: err.Error(), Fix: "make it compile: the rules are blind here"})
			continue
		}
		all[path.Dir(name)] = append(all[path.Dir(name)], source{name, fset, syntax})
	}
	for dir, files := range all {
		if slices.ContainsFunc(files, func(s source) bool { return s.local("testing") != "" }) {
			delete(all, dir)
		}
	}
	t.golang = all
}

// local is the name by which a file knows an import, "" where it has none of it.
func (s source) local(imported string) string {
	for _, spec := range s.syntax.Imports {
		if p, _ := strconv.Unquote(spec.Path.Value); p == imported {
			if spec.Name != nil {
				return spec.Name.Name
			}
			return base(imported)
		}
	}
	return ""
}

// base is the name that an import path gives: its last part, or the one before a version.
func base(imported string) string {
	last := path.Base(imported)
	if len(last) > 1 && last[0] == 'v' && strings.Trim(last[1:], "0123456789") == "" {
		last = path.Base(path.Dir(imported))
	}
	last, _, _ = strings.Cut(last, ".")
	return strings.TrimSuffix(strings.TrimPrefix(last, "go-"), "-go")
}

// selects says whether n is pkg.Name for one of the names of an imported package.
func (s source) selects(n ast.Node, imported string, names ...string) bool {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok || !slices.Contains(names, sel.Sel.Name) {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == s.local(imported)
}

func (s source) at(n ast.Node, rule, what, fix string) Finding {
	return Finding{File: s.name, Line: s.fset.Position(n.Pos()).Line, Rule: rule, What: what, Fix: fix}
}

// goCaptures names the tables of Capture literals. A constant is taken by its name, wherever in the tree it is declared.
func (t *tree) goCaptures() map[string]bool {
	constants := map[string][]string{}
	var tables []ast.Expr
	for _, files := range t.golang {
		for _, s := range files {
			ast.Inspect(s.syntax, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ValueSpec:
					for i, value := range n.Values {
						if text, ok := literal(value); ok && i < len(n.Names) {
							constants[n.Names[i].Name] = append(constants[n.Names[i].Name], text)
						}
					}
				case *ast.CompositeLit:
					tables = append(tables, capturedTables(n)...)
				}
				return true
			})
		}
	}
	all := map[string]bool{}
	for _, table := range tables {
		if text, ok := literal(table); ok {
			all[plain(text)] = true
		}
		for _, text := range constants[nameOf(table)] {
			all[plain(text)] = true
		}
	}
	return all
}

// capturedTables lists what a literal Capture{Table: …}, or a list of such, says of its tables.
func capturedTables(lit *ast.CompositeLit) []ast.Expr {
	kind := lit.Type
	var captures []*ast.CompositeLit
	if list, ok := kind.(*ast.ArrayType); ok {
		kind = list.Elt
		for _, e := range lit.Elts {
			if c, ok := e.(*ast.CompositeLit); ok && c.Type == nil {
				captures = append(captures, c)
			}
		}
	} else {
		captures = append(captures, lit)
	}
	if kind == nil || nameOf(kind) != "Capture" {
		return nil
	}
	var tables []ast.Expr
	for _, c := range captures {
		for _, e := range c.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok && nameOf(kv.Key) == "Table" {
				tables = append(tables, kv.Value)
			}
		}
	}
	return tables
}

// nameOf is the last part of a name, with or without a package before it.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
