package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// once checks every case, for several tests.
var once = sync.OnceValue(report)

// No committed event waits for ever, none has two jobs of a subscription, and none that was rolled back has one; none waits longer
// than is said; and every planted mistake is found as what it is.
func TestTheProtocolHolds(t *testing.T) {
	t.Parallel()
	for _, fault := range once().wrong {
		t.Error(fault)
	}
}

// It is the planted mistake that is found: the same world without it holds.
func TestWithoutTheirMistakeWorldsHold(t *testing.T) {
	t.Parallel()
	for _, c := range planted() {
		res, err := check(&c.world, c.intervals)
		if err != nil || res.broken != "" {
			t.Errorf("%s: %s, %v\n%s", c.name, res.broken, err, strings.Join(res.trace, "\n"))
		}
	}
}

// No step is there for show: each is taken somewhere.
func TestEveryStepIsTaken(t *testing.T) {
	t.Parallel()
	for s, was := range once().taken {
		if !was {
			t.Errorf("nobody ever %q", kinds[s].text)
		}
	}
}

// What the steps stand for is in the source, and the times relate as the clocked cases have it.
func TestTheModelNamesTheCode(t *testing.T) {
	t.Parallel()
	code := source(t, "../../events/*.go", "../../pg/*.go", "../../pg/migrations/*.up.sql")
	for _, k := range kinds {
		if k.fn == "" {
			continue
		}
		decl := `(?m)^func ` + k.fn + `\(`
		if on, method, ok := strings.Cut(k.fn, "."); ok {
			decl = `(?m)^func \(\w+ \*?` + on + `\) ` + method + `\(|^create function ` + regexp.QuoteMeta(k.fn) + `\(`
		}
		if !regexp.MustCompile(decl).MatchString(code) {
			t.Errorf("%q stands for %s, which is not in the source", k.text, k.fn)
		}
	}
	for _, text := range []string{
		`orDefault\(c\.PollInterval, time\.Second\)`, `orDefault\(c\.BackoffBase, 2\*time\.Second\)`, `fullScanEvery\s+= 2 \* time\.Second`,
	} {
		if !regexp.MustCompile(text).MatchString(code) {
			t.Errorf("events does not have %s: the clocked cases and README.md say so", text)
		}
	}
}

func source(t *testing.T, patterns ...string) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range patterns {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	return all.String()
}

// README.md shows what the command prints.
func TestReadmeShowsTheReport(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var short []string
	for _, l := range once().lines {
		if !l.trace {
			short = append(short, l.text)
		}
	}
	if want := strings.Join(short, "\n"); !strings.Contains(string(readme), want) {
		t.Errorf("README.md does not show\n%s", want)
	}
}
