package gates

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

func checkDocGo(m *Module) []Finding {
	var found []Finding
	for _, p := range m.Packages {
		said := false
		for _, f := range p.Files {
			said = said || f.Base() == "doc.go" && strings.TrimSpace(f.Syntax.Doc.Text()) != ""
		}
		if !said {
			found = append(found, m.atPackage(p, "package "+p.Name+" has no doc.go with a package comment",
				"say there what the package is for and what it promises"))
		}
	}
	return found
}

// standardMethods have one contract everywhere.
var standardMethods = []string{"Error", "Unwrap", "String", "Read", "Write", "ServeHTTP"}

// checkComments asks for a comment on every exported function, type, constant and variable, and on every exported
// method of an exported type whose contract the standard library does not state already. A comment on a group counts
// for its members; so does one behind a name.
func checkComments(m *Module) []Finding {
	var found []Finding
	for _, p := range m.Packages {
		for _, f := range p.Files {
			if f.Test || f.Generated {
				continue
			}
			for _, name := range undocumented(f.Syntax) {
				found = append(found, m.at(f, name.Pos(), fmt.Sprintf("exported %s has no comment", name.Name),
					"say its contract: shapes, units, limits, errors"))
			}
		}
	}
	return found
}

func undocumented(file *ast.File) []*ast.Ident {
	var bare []*ast.Ident
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			known := d.Recv != nil && slices.Contains(standardMethods, d.Name.Name)
			if d.Name.IsExported() && d.Doc == nil && !known && ast.IsExported(receiver(d)) {
				bare = append(bare, d.Name)
			}
		case *ast.GenDecl:
			if d.Tok != token.IMPORT && d.Doc == nil {
				bare = append(bare, undocumentedSpecs(d.Specs)...)
			}
		}
	}
	return bare
}

// receiver names the type of a method; a function counts as exported.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return "Function"
	}
	for t := d.Recv.List[0].Type; ; {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func undocumentedSpecs(specs []ast.Spec) []*ast.Ident {
	var bare []*ast.Ident
	for _, spec := range specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc == nil && s.Comment == nil {
				bare = append(bare, s.Name)
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if name.IsExported() && s.Doc == nil && s.Comment == nil {
					bare = append(bare, name)
				}
			}
		}
	}
	return bare
}
