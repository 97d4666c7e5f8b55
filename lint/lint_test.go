package lint_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/lint"
)

const sample = "testdata/sample"

var mark = regexp.MustCompile(`(?://|--) want ([a-z ]+)$`)

// Every rule is red at each line of the sample that breaks it, and at no other.
func TestSampleIsRedWhereItIsMarked(t *testing.T) {
	t.Parallel()
	found, err := lint.Dir(sample)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		got = append(got, fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Rule))
		if f.What == "" || f.Fix == "" {
			t.Errorf("%s says neither what nor how to mend it", f)
		}
	}
	want := marks(t)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules are red elsewhere than marked (-marked +red):\n%s", diff)
	}
}

// No rule is without a line in the sample that breaks it, and each can be asked for alone.
func TestEachRuleAlone(t *testing.T) {
	t.Parallel()
	for _, rule := range lint.Rules() {
		found, err := lint.Dir(sample, rule[0])
		if err != nil {
			t.Fatal(err)
		}
		own := slices.DeleteFunc(found, func(f lint.Finding) bool { return f.Rule == "parse" })
		if len(own) == 0 {
			t.Errorf("nothing breaks %s: it may be a rule that cannot fail", rule[0])
		}
		for _, f := range own {
			if f.Rule != rule[0] {
				t.Errorf("asked for %s, found %s", rule[0], f)
			}
		}
	}
	if _, err := lint.Dir(sample, "effect"); err == nil || !strings.Contains(err.Error(), `"effect"`) {
		t.Errorf("err = %v, want one that names the rule", err)
	}
}

// A file that does not parse is a finding, whatever rule is asked for.
func TestWhatDoesNotParseIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "broken.go"), []byte("package broken {"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := lint.Dir(dir, "events"); err != nil || len(found) != 1 || found[0].Rule != "parse" {
		t.Errorf("%v, %v", found, err)
	}
}

func marks(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(sample, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		src, err := os.ReadFile(name)
		for i, line := range strings.Split(string(src), "\n") {
			if m := mark.FindStringSubmatch(line); m != nil {
				rel, _ := filepath.Rel(sample, name)
				for _, rule := range strings.Fields(m[1]) {
					all = append(all, fmt.Sprintf("%s:%d: %s", filepath.ToSlash(rel), i+1, rule))
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
