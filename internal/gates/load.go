package gates

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// listed is what go list says of one package. A package under test is listed again with its tests, as "p [p.test]".
type listed struct {
	ImportPath     string
	Name           string
	Dir            string
	ForTest        string
	Export         string
	GoFiles        []string
	CgoFiles       []string
	IgnoredGoFiles []string
	ImportMap      map[string]string
	Deps           []string
	Module         *struct {
		Path, Dir string
		Main      bool
	}
	Error *struct{ Pos, Err string }
}

// Load lists, parses and type-checks the module in dir. What the module imports is compiled where the build cache does
// not have it.
func Load(dir string) (*Module, error) {
	all, err := list(dir)
	if err != nil {
		return nil, err
	}
	m := &Module{fset: token.NewFileSet(), deps: map[string][]string{}}
	c := newChecker(m, all)
	for _, l := range all {
		if l.ForTest == "" {
			m.deps[l.ImportPath] = l.Deps
		}
		if l.Module == nil || !l.Module.Main || strings.HasSuffix(l.ImportPath, ".test") {
			continue
		}
		m.Path, m.Dir = l.Module.Path, l.Module.Dir
		if base := basePath(l); l.ForTest == "" || base == l.ForTest || base == l.ForTest+"_test" {
			if err := m.add(l, c); err != nil {
				return nil, err
			}
		}
	}
	if len(m.Packages) == 0 {
		return nil, fmt.Errorf("no packages in %s", dir)
	}
	return m, nil
}

func list(dir string) ([]*listed, error) {
	const fields = "ImportPath,Name,Dir,ForTest,Export,GoFiles,CgoFiles,IgnoredGoFiles,ImportMap,Deps,Module,Error"
	cmd := exec.Command("go", "list", "-e", "-export", "-deps", "-test", "-json="+fields, "./...")
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w: %s", dir, err, stderr.String())
	}
	var all []*listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("read what go list says of %s: %w", dir, err)
		}
		all = append(all, &l)
	}
}

// basePath is the import path without the test binary for which it was compiled.
func basePath(l *listed) string {
	path, _, _ := strings.Cut(l.ImportPath, " ")
	return path
}

// add takes one listed package into its Package: the plain one, then the same with tests, then its _test package.
func (m *Module) add(l *listed, c *checker) error {
	room, _ := m.roomOf(strings.TrimSuffix(basePath(l), "_test"))
	if l.ForTest == "" {
		room, _ = m.roomOf(l.ImportPath)
	}
	p := m.pkg(room)
	if l.ForTest == "" {
		p.Name, p.Dir = l.Name, l.Dir
	}
	before := len(m.Broken)
	built, err := m.parse(l, append(slices.Clone(l.GoFiles), l.CgoFiles...))
	if err != nil {
		return err
	}
	c.check(l, built)
	if l.Error != nil && len(m.Broken) == before {
		file, line := m.place(l)
		m.broken(file, line, strings.TrimSpace(l.Error.Err))
	}
	ignored, err := m.parse(l, l.IgnoredGoFiles)
	if err != nil {
		return err
	}
	for _, f := range append(built, ignored...) {
		// The listing with tests sees the plain files again, with the same types.
		p.Files = slices.DeleteFunc(p.Files, func(old *File) bool { return old.Path == f.Path })
		p.Files = append(p.Files, f)
	}
	return nil
}

func (m *Module) pkg(room string) *Package {
	for _, p := range m.Packages {
		if p.Room == room {
			return p
		}
	}
	p := &Package{Room: room}
	m.Packages = append(m.Packages, p)
	return p
}

func (m *Module) parse(l *listed, names []string) ([]*File, error) {
	var files []*File
	for _, name := range names {
		full := name
		if !filepath.IsAbs(full) {
			full = filepath.Join(l.Dir, name)
		}
		src, err := os.ReadFile(full)
		if err != nil {
			return nil, err
		}
		syntax, err := parser.ParseFile(m.fset, full, src, parser.ParseComments|parser.SkipObjectResolution)
		path := m.rel(full)
		if err != nil {
			m.broken(path, 1, err.Error())
		}
		if syntax == nil {
			continue
		}
		files = append(files, &File{
			Path: path, Test: strings.HasSuffix(name, "_test.go"), Generated: ast.IsGenerated(syntax),
			Lines: lines(src), Syntax: syntax,
		})
	}
	return files, nil
}

func (m *Module) rel(path string) string {
	if rel, err := filepath.Rel(m.Dir, path); err == nil && filepath.IsAbs(path) {
		path = rel
	}
	return filepath.ToSlash(path)
}

// place is where go list saw an error: "dir/file.go:12:3", as seen from where it ran.
func (m *Module) place(l *listed) (file string, line int) {
	file, rest, _ := strings.Cut(l.Error.Pos, ":")
	number, _, _ := strings.Cut(rest, ":")
	line, _ = strconv.Atoi(number)
	if file == "" {
		file = m.rel(l.Dir)
	}
	return m.rel(file), max(line, 1)
}

func lines(src []byte) int {
	n := bytes.Count(src, []byte("\n"))
	if len(src) > 0 && src[len(src)-1] != '\n' {
		n++
	}
	return n
}
