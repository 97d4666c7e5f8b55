package lint

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Finding is one breach of a rule.
type Finding struct {
	File string `json:"file"` // relative to the folder that was looked at, with slashes
	Line int    `json:"line"`
	Rule string `json:"rule"`
	What string `json:"what"`
	Fix  string `json:"fix"` // the way out
}

// String prints the finding in the form that editors jump to.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s; %s", f.File, f.Line, f.Rule, f.What, f.Fix)
}

// maxFile is how long a file may be to be read: what is longer was written by a program.
const maxFile = 2 << 20

// Rules lists the names of the rules with what holds, in one line each.
func Rules() [][2]string {
	return [][2]string{
		{"events", "every table says whether its changes are events, and one that emits has a capture"},
		{"effects", "a request's path can neither send mail nor call the world"},
		{"retry", "only the jobs layer waits to try again"},
		{"periodic", "only the scheduler works by the clock"},
	}
}

// Dir runs the named rules over a folder and what lies below it, all of them when none is named, and answers what they found in
// order of place. Hidden folders, testdata, vendor and node_modules are left out.
func Dir(dir string, rules ...string) ([]Finding, error) {
	if err := known(rules); err != nil {
		return nil, err
	}
	tree, err := read(dir)
	if err != nil {
		return nil, err
	}
	return tree.check(rules), nil
}

func known(rules []string) error {
	for _, name := range rules {
		if !slices.ContainsFunc(Rules(), func(r [2]string) bool { return r[0] == name }) {
			return fmt.Errorf("no rule is named %q: name events, effects, retry or periodic", name)
		}
	}
	return nil
}

func (t *tree) check(rules []string) []Finding {
	t.parse()
	found := slices.Clone(t.broken)
	for _, f := range slices.Concat(t.tables(), t.calls()) {
		if len(rules) == 0 || slices.Contains(rules, f.Rule) {
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.What, b.What))
	})
	return slices.Compact(found)
}

// tree is the text of a folder.
type tree struct {
	files  map[string]string   // by name relative to the folder
	golang map[string][]source // by folder
	broken []Finding           // what did not parse: rules are blind there
}

func read(dir string) (*tree, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", dir, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("look at %s: it is no folder", dir)
	}
	t := &tree{files: map[string]string{}}
	root := os.DirFS(dir)
	return t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone meanwhile
		case err != nil:
			return err
		case d.IsDir():
			base := path.Base(name)
			if name != "." && (strings.HasPrefix(base, ".") || slices.Contains([]string{"testdata", "vendor", "node_modules"}, base)) {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > maxFile {
			return nil
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return fmt.Errorf("look at %s: %w", name, err)
		}
		if !slices.Contains(src, 0) {
			t.files[name] = string(src)
		}
		return nil
	})
}

// names lists the files in order.
func (t *tree) names(keep func(name string) bool) []string {
	var all []string
	for name := range t.files {
		if keep(name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}
