package gates_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	named = regexp.MustCompile("`([a-z/]+)\\.(Test[A-Za-z0-9_]+)((?:/[a-z-]+)*)`")
	tests = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// Every row of docs/saturation.md names tests, and each of them is in the source.
func TestSaturationNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/saturation.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range unproven(t, "../..", string(text)) {
		t.Error(fault)
	}
	if rows := strings.Count(string(text), "\n| **"); rows < 10 {
		t.Errorf("%d rows were found: the table is read wrongly", rows)
	}
}

// The check can fail: on a test, a folder and a case that do not exist, and on a row that names none.
func TestUnprovenRowsAreTold(t *testing.T) {
	t.Parallel()
	got := unproven(t, "../..", strings.Join([]string{
		"| **a** | `postbus.TestPoolBudget`, `jobs/river.TestConformance/isolation/blocked-queue` |",
		"| **b** | `postbus.TestOfNothing` |",
		"| **c** | `jobs.TestPoolBudget` |",
		"| **d** | `jobs/river.TestConformance/isolation/nothing`, `postbus.TestPoolBudget/isolation/blocked-queue` |",
		"| **e** | it is so |",
	}, "\n"))
	want := []string{
		"b: there is no postbus.TestOfNothing",
		"c: there is no jobs.TestPoolBudget",
		"d: there is no jobs/river.TestConformance/isolation/nothing",
		"d: there is no postbus.TestPoolBudget/isolation/blocked-queue",
		"e: no test is named",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// unproven says of each row of a table, which begins with a bold word, what is wrong with the tests that it names.
func unproven(t *testing.T, root, text string) (faults []string) {
	t.Helper()
	for row := range strings.Lines(text) {
		rest, isRow := strings.CutPrefix(row, "| **")
		if !isRow {
			continue
		}
		what, _, _ := strings.Cut(rest, "**")
		found := named.FindAllStringSubmatch(row, -1)
		if len(found) == 0 {
			faults = append(faults, what+": no test is named")
		}
		for _, f := range found {
			if folder, name, sub := f[1], f[2], f[3]; !hasTest(t, root, folder, name) || sub != "" && !hasCase(t, root, name, sub) {
				faults = append(faults, fmt.Sprintf("%s: there is no %s.%s%s", what, folder, name, sub))
			}
		}
	}
	return faults
}

func hasTest(t *testing.T, root, folder, name string) bool {
	t.Helper()
	if folder == "postbus" {
		folder = "."
	}
	for _, src := range sources(t, filepath.Join(root, folder, "*_test.go")) {
		for _, found := range tests.FindAllStringSubmatch(src, -1) {
			if found[1] == name {
				return true
			}
		}
	}
	return false
}

// hasCase looks for a case of the conformance suite, /topic/name.
func hasCase(t *testing.T, root, test, sub string) bool {
	t.Helper()
	parts := strings.Split(sub, "/")
	if test != "TestConformance" || len(parts) != 3 {
		return false
	}
	want := fmt.Sprintf("{Topic: %q, Name: %q,", parts[1], parts[2])
	for _, src := range sources(t, filepath.Join(root, "jobs/jobstest/*.go")) {
		if strings.Contains(src, want) {
			return true
		}
	}
	return false
}

func sources(t *testing.T, pattern string) (all []string) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(src))
	}
	return all
}
