package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// No committed event waits for ever, none has two jobs of a subscription, and none that was rolled back has one.
func TestTheProtocolHolds(t *testing.T) {
	t.Parallel()
	for _, c := range right() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			holds(t, c)
		})
	}
}

func holds(t *testing.T, c verdict) result {
	t.Helper()
	res, err := check(&c.world, c.intervals)
	if err != nil {
		t.Fatal(err)
	}
	if res.broken != "" {
		t.Errorf("%s\n%s", res.broken, strings.Join(res.trace, "\n"))
	}
	return res
}

// The longest waits are those that README.md states.
func TestTheLongestWaits(t *testing.T) {
	t.Parallel()
	for _, c := range waits() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if res := holds(t, c); res.intervals != c.intervals {
				t.Errorf("at most %g intervals, want %g", res.intervals, c.intervals)
			}
		})
	}
}

// Every planted mistake is found as what it is, and the same world without it holds.
func TestPlantedMistakesAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range planted() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			holds(t, c)
			c.mistake(&c.world)
			res, err := check(&c.world, c.intervals)
			if err != nil {
				t.Fatal(err)
			}
			if !res.finds(c.broken) {
				t.Errorf("found %q, want %q, at the end of\n%s", res.broken, c.broken, strings.Join(res.trace, "\n"))
			}
		})
	}
}

// No step is there for show: each is taken somewhere.
func TestEveryStepIsTaken(t *testing.T) {
	t.Parallel()
	var taken [steps]bool
	for _, c := range slices.Concat(right(), waits()) {
		for s, was := range holds(t, c).taken {
			taken[s] = taken[s] || was
		}
	}
	for s, was := range taken {
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
	out, ok := report()
	if !ok {
		t.Error("the report is not as it must be")
	}
	var short []string
	for _, l := range out {
		if !l.trace {
			short = append(short, l.text)
		}
	}
	if want := strings.Join(short, "\n"); !strings.Contains(string(readme), want) {
		t.Errorf("README.md does not show\n%s", want)
	}
}
