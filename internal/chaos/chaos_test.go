package chaos

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/internal/testdb"
)

func TestMain(m *testing.M) {
	Child()
	os.Exit(m.Run())
}

// The promises of docs/guarantees.md hold while every kind of fault comes at least once, in processes of this very binary: nothing is
// lost, doubled or made up, and the accounts balance.
func TestNothingIsLostWhileEverythingBreaks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := Run(t.Context(), Config{
		Duration: 40 * time.Second, Seed: 7, Rate: 20, Dir: dir, Clock: !testing.Short(), Log: testdb.Log(),
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Require(t)
	var out strings.Builder
	if err := r.Print(&out); err != nil {
		t.Error(err)
	}
	t.Log(out.String())
	if t.Failed() {
		t.Log(tail(t, dir))
	}
	var came []string
	for _, f := range r.Faults {
		if f.Error == "" {
			came = append(came, f.Kind)
		}
	}
	for _, k := range allKinds(!testing.Short()) {
		if !slices.Contains(came, k.name) {
			t.Errorf("no fault of the kind %q came about", k.name)
		}
	}
	c := r.Counts
	if c.Committed == 0 || c.RolledBack == 0 || c.WideJobs == 0 || c.HandledAgain == 0 || c.Labels == 0 || c.Taken == 0 || c.JobsWithError == 0 {
		t.Errorf("the plan did not get at something: %+v", c)
	}
}

// tail is what the processes said last.
func tail(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	names, err := filepath.Glob(filepath.Join(dir, "*.out"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("== " + filepath.Base(name) + "\n" + string(raw[max(0, len(raw)-4000):]) + "\n")
	}
	return all.String()
}

// One seed is one plan; every kind is in it, no two faults of a lane overlap, and it fits.
func TestPlanFollowsTheSeed(t *testing.T) {
	t.Parallel()
	kinds := allKinds(true)
	for _, duration := range []time.Duration{30 * time.Second, time.Minute, 10 * time.Minute} {
		plan := planFor(kinds, 3, 3, duration)
		if diff := cmp.Diff(plan, planFor(allKinds(true), 3, 3, duration)); diff != "" {
			t.Errorf("the same seed gives another plan:\n%s", diff)
		}
		if cmp.Equal(plan, planFor(kinds, 4, 3, duration)) {
			t.Error("another seed gives the same plan")
		}
		ends := map[string]time.Duration{}
		seen := map[string]bool{}
		for _, f := range plan {
			seen[f.Kind] = true
			if f.At < ends[f.Lane] || f.At+f.For > duration+10*time.Millisecond {
				t.Errorf("%s: %s at %s for %s, its lane is free from %s on", duration, f.Kind, f.At, f.For, ends[f.Lane])
			}
			ends[f.Lane] = f.At + f.For
		}
		if len(seen) != len(kinds) {
			t.Errorf("%s: %d kinds of %d", duration, len(seen), len(kinds))
		}
	}
}
