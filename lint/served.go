package lint

import (
	"go/ast"
	"slices"
)

const effectFix = "record an event or enqueue a job in the transaction of the change, and let its handler do this"

// Effects are capabilities to reach the world, by import path: names of net/http that make or are a client, and whole packages that
// send mail or wrap a client ("").
func Effects() map[string][]string {
	return map[string][]string{
		"net/http": {"Client", "DefaultClient", "Transport", "DefaultTransport", "RoundTripper", "Get", "Head", "Post", "PostForm"},
		"net/smtp": nil, "github.com/wneessen/go-mail": nil, "gopkg.in/gomail.v2": nil, "github.com/go-mail/mail": nil,
		"github.com/jordan-wright/email": nil, "github.com/sendgrid/sendgrid-go": nil, "github.com/mailgun/mailgun-go/v4": nil,
		"github.com/go-resty/resty/v2": nil, "github.com/hashicorp/go-retryablehttp": nil, "github.com/valyala/fasthttp": nil,
	}
}

// effect names the capability that n is, or "".
func (s source) effect(n ast.Node) string {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	for lib, names := range Effects() {
		local := s.local(lib)
		if local == x.Name && (names == nil || slices.Contains(names, sel.Sel.Name)) {
			return local + "." + sel.Sel.Name
		}
	}
	return ""
}

// fn is a function of a package, with the type it is a method of.
type fn struct {
	in       source
	decl     *ast.FuncDecl
	receiver string // the type's name, "" for none
	self     string // the receiver's name
}

// served follows a request: from every function that takes an http.ResponseWriter, through the functions of the package and the
// methods of the same type that it calls, and the fields of that type. What is found on the way must be no effect.
func served(files []source) []Finding {
	funcs, structs := declared(files)
	var found []Finding
	seen, asked := map[*ast.FuncDecl]bool{}, map[string]bool{}
	var follow func(f fn, n ast.Node)
	follow = func(f fn, n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if what := f.in.effect(n); what != "" {
				found = append(found, f.in.at(n, "effects", what+" on the path of a request", effectFix))
			}
			if key := f.calls(n); key != "" {
				if next, ok := funcs[key]; ok && !seen[next.decl] {
					seen[next.decl] = true
					follow(next, next.decl.Body)
				}
			}
			return true
		})
		if held, ok := structs[f.receiver]; ok && !asked[f.receiver] {
			asked[f.receiver] = true
			follow(fn{in: held.in}, held.fields)
		}
	}
	for _, s := range files {
		for _, d := range s.syntax.Decls {
			f, ok := asFn(s, d)
			switch {
			case !ok:
			case s.serves(f.decl.Type):
				if !seen[f.decl] {
					seen[f.decl] = true
					follow(f, f.decl.Body)
				}
			default: // a handler may be a literal inside
				ast.Inspect(f.decl.Body, func(n ast.Node) bool {
					if lit, ok := n.(*ast.FuncLit); ok && s.serves(lit.Type) {
						follow(f, lit.Body)
						return false
					}
					return true
				})
			}
		}
	}
	return found
}

// calls is the key of the function of the package that n calls or hands on: "name", or "Type.name" of a method of the same type.
func (f fn) calls(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok {
			return id.Name
		}
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok && f.self != "" && x.Name == f.self {
			return f.receiver + "." + n.Sel.Name
		}
	}
	return ""
}

// serves says whether a function takes an http.ResponseWriter.
func (s source) serves(t *ast.FuncType) bool {
	return slices.ContainsFunc(t.Params.List, func(p *ast.Field) bool { return s.selects(p.Type, "net/http", "ResponseWriter") })
}

type fields struct {
	in     source
	fields *ast.StructType
}

// declared lists the functions and structs of a package by their keys.
func declared(files []source) (map[string]fn, map[string]fields) {
	funcs, structs := map[string]fn{}, map[string]fields{}
	for _, s := range files {
		for _, d := range s.syntax.Decls {
			if f, ok := asFn(s, d); ok {
				key := f.decl.Name.Name
				if f.receiver != "" {
					key = f.receiver + "." + key
				}
				funcs[key] = f
			}
			gen, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range gen.Specs {
				if ts, ok := spec.(*ast.TypeSpec); ok {
					if st, ok := ts.Type.(*ast.StructType); ok {
						structs[ts.Name.Name] = fields{s, st}
					}
				}
			}
		}
	}
	return funcs, structs
}

func asFn(s source, d ast.Decl) (fn, bool) {
	decl, ok := d.(*ast.FuncDecl)
	if !ok || decl.Body == nil {
		return fn{}, false
	}
	f := fn{in: s, decl: decl}
	if decl.Recv != nil && len(decl.Recv.List) == 1 {
		recv := decl.Recv.List[0]
		if len(recv.Names) == 1 {
			f.self = recv.Names[0].Name
		}
		kind := recv.Type
		if star, ok := kind.(*ast.StarExpr); ok {
			kind = star.X
		}
		if generic, ok := kind.(*ast.IndexExpr); ok {
			kind = generic.X
		}
		f.receiver = nameOf(kind)
	}
	return f, true
}
