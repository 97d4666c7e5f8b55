package gates

import (
	"fmt"
	"slices"
)

// What a user's binary may be spared.
var (
	river     = []string{"github.com/riverqueue"}
	faces     = []string{"github.com/danielgtaylor/huma", "github.com/modelcontextprotocol/go-sdk", "github.com/a-h/templ"}
	download  = []string{"github.com/fergusstrange/embedded-postgres"}
	testTools = []string{"testing", "pgregory.net/rapid", "github.com/google/go-cmp", "go.uber.org/goleak"}
)

// free says of what a room's importers are to be free, through any chain of imports. Only the room itself is meant, not
// the folders below it.
var free = map[string][]string{
	"pg":         slices.Concat(river, faces, download, testTools),
	"jobs":       slices.Concat(river, faces, download, testTools),
	"events":     slices.Concat(river, faces, download, testTools),
	"webhooks":   slices.Concat(river, faces, download, testTools),
	"mail":       slices.Concat(river, faces, download, testTools),
	"work":       slices.Concat(river, faces, download, testTools),
	"jobs/bulk":  slices.Concat(river, faces, download, testTools),
	"jobs/river": slices.Concat(faces, download, testTools),
	"":           slices.Concat(faces, download, testTools),
	"ops":        slices.Concat(river, download, testTools),
	"panel":      slices.Concat(river, download, testTools),
}

func checkPulls(m *Module) []Finding {
	var found []Finding
	for _, p := range m.Packages {
		for _, f := range p.Files {
			if f.Test {
				continue
			}
			for _, imp := range f.imports() {
				if pulled := m.pulled(imp.path, free[p.Room]); pulled != "" {
					found = append(found, m.at(f, imp.pos,
						fmt.Sprintf("importing %s pulls %s, of which its users are to be free", shown(p.Room), pulled),
						"move what needs it to a room above, and hand it in through an interface"))
				}
			}
		}
	}
	return found
}

// pulled names a library out of banned that importing path links, or "".
func (m *Module) pulled(path string, banned []string) string {
	for _, dep := range append([]string{path}, m.deps[path]...) {
		for _, root := range banned {
			if under(dep, root) {
				return dep
			}
		}
	}
	return ""
}

func checkRiver(m *Module) []Finding {
	var found []Finding
	for _, p := range m.Packages {
		if p.in("jobs/river") {
			continue
		}
		for _, f := range p.Files {
			for _, imp := range f.imports() {
				if under(imp.path, river[0]) {
					found = append(found, m.at(f, imp.pos, imp.path+" is imported outside jobs/river",
						"go through the ports in package jobs; what they lack is added there first"))
				}
			}
		}
	}
	return found
}
