package gates

import (
	"errors"
	"go/ast"
	"go/importer"
	"go/types"
	"io"
	"os"
	"strings"
)

const noExport = "no export data of "

// checker finds types. It imports from the export data that the go command has in its build cache.
type checker struct {
	m    *Module
	byID map[string]*listed
}

func newChecker(m *Module, all []*listed) *checker {
	c := &checker{m: m, byID: make(map[string]*listed, len(all))}
	for _, l := range all {
		c.byID[l.ImportPath] = l
	}
	return c
}

// check gives the files of one listed package their types. A test sees other exports under the same import path than
// a plain package does, so nothing imported is shared between calls.
func (c *checker) check(l *listed, files []*File) {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	conf := types.Config{
		Importer: importer.ForCompiler(c.m.fset, "gc", func(path string) (io.ReadCloser, error) {
			if mapped, ok := l.ImportMap[path]; ok {
				path = mapped
			}
			dep, ok := c.byID[path]
			if !ok || dep.Export == "" {
				return nil, errors.New(noExport + path)
			}
			return os.Open(dep.Export)
		}),
		FakeImportC: true,
		Error:       func(err error) { c.note(l, err) },
	}
	var syntax []*ast.File
	for _, f := range files {
		f.info = info
		syntax = append(syntax, f.Syntax)
	}
	// The error is one that Error has seen.
	_, _ = conf.Check(basePath(l), c.m.fset, syntax, info)
}

// note keeps an error. That a package of the module does not import is said where that package does not compile.
func (c *checker) note(l *listed, err error) {
	file, line := c.m.rel(l.Dir), 1
	var te types.Error
	if errors.As(err, &te) {
		if te.Soft {
			return
		}
		if strings.Contains(te.Msg, noExport+c.m.Path) {
			return
		}
		pos := te.Fset.Position(te.Pos)
		file, line, err = c.m.rel(pos.Filename), pos.Line, errors.New(te.Msg)
	}
	c.m.broken(file, line, err.Error())
}
