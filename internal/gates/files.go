package gates

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxLines is how long a file may be.
const maxLines = 500

// handWritten are the files that people write and read: their endings.
var handWritten = []string{".go", ".sql", ".sh", ".templ", ".css"}

// walk calls visit with every file of the module, nested modules, hidden folders and testdata left out.
func (m *Module) walk(visit func(name string)) {
	_ = fs.WalkDir(os.DirFS(m.Dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // Gone meanwhile.
		case !d.IsDir():
			visit(name)
			return nil
		case name == ".":
			return nil
		}
		if _, err := os.Stat(m.Dir + "/" + name + "/go.mod"); !errors.Is(err, fs.ErrNotExist) {
			return fs.SkipDir
		}
		if base := path.Base(name); strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules" {
			return fs.SkipDir
		}
		return nil
	})
}

func (m *Module) read(name string) string {
	src, err := os.ReadFile(m.Dir + "/" + name)
	if err != nil {
		return ""
	}
	return string(src)
}

func checkSize(m *Module) []Finding {
	generated := map[string]bool{}
	for _, p := range m.Packages {
		for _, f := range p.Files {
			generated[f.Path] = f.Generated
		}
	}
	var found []Finding
	m.walk(func(name string) {
		if !slices.Contains(handWritten, path.Ext(name)) || generated[name] {
			return
		}
		if n := lines([]byte(m.read(name))); n > maxLines {
			found = append(found, Finding{File: name, Line: maxLines + 1,
				What: fmt.Sprintf("%d lines, the limit is %d", n, maxLines), Fix: "split it by topic"})
		}
	})
	return found
}

var migration = regexp.MustCompile(`^(\d{3})_([a-z0-9_]+)\.(up|down)\.sql$`)

// checkMigrations looks at every folder named migrations. Numbers go up without a gap; each has one up and one
// down file of the same name, and each file says why in a comment before its first statement.
func checkMigrations(m *Module) []Finding {
	var found []Finding
	folders := map[string]map[string]string{}
	m.walk(func(name string) {
		dir, base := path.Split(name)
		if path.Base(dir) != "migrations" || path.Ext(name) != ".sql" {
			return
		}
		if !migration.MatchString(base) {
			found = append(found, Finding{File: name, Line: 1, What: "a migration's name has another form",
				Fix: "name it 001_what.up.sql, with 001_what.down.sql beside it"})
			return
		}
		if folders[dir] == nil {
			folders[dir] = map[string]string{}
		}
		folders[dir][base] = m.read(name)
	})
	for dir, files := range folders {
		found = append(found, checkFolder(dir, files)...)
	}
	return found
}

func checkFolder(dir string, files map[string]string) []Finding {
	var found []Finding
	names := map[string]string{} // The file that holds a number, by number and direction.
	numbers := map[string]bool{}
	for base := range files {
		numbers[base[:3]] = true
	}
	lowest := slices.Min(slices.Collect(maps.Keys(numbers)))
	report := func(base, what, fix string) {
		found = append(found, Finding{File: dir + base, Line: 1, What: what, Fix: fix})
	}
	for _, base := range sorted(files) {
		part := migration.FindStringSubmatch(base)
		number, what, way := part[1], part[2], part[3]
		other := map[string]string{"up": "down", "down": "up"}[way]
		if _, ok := files[number+"_"+what+"."+other+".sql"]; !ok {
			report(base, "has no "+other+" file", fmt.Sprintf("write %s_%s.%s.sql", number, what, other))
		}
		if taken := names[number+way]; taken != "" {
			report(base, "has the number of "+taken, "give it the next number")
		}
		names[number+way] = base
		if before := fmt.Sprintf("%03d", atoi(number)-1); number != lowest && !numbers[before] {
			report(base, "there is no "+before+" before it", "number migrations without a gap")
		}
		if !strings.HasPrefix(strings.TrimSpace(files[base]), "--") {
			report(base, "does not begin with a comment", "say in its first lines why it exists and what it costs")
		}
	}
	return found
}

func sorted(files map[string]string) []string {
	return slices.Sorted(maps.Keys(files))
}

func atoi(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
