package faults

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/postbus/postbus/jobs/jobstest"
)

// patience is what a case with a fault in it waits for what will not happen.
const patience = 4 * time.Second

// Run seeds every fault into the adapter and fails where the case that names it does not catch it, or where that case
// fails without the fault. It prints what caught what.
func Run(t *testing.T, h jobstest.Harness) {
	cases := map[string]jobstest.Case{}
	for _, c := range jobstest.Cases() {
		cases[c.ID()] = c
	}
	clean := cleanRuns(t, h, cases)
	report := &table{}
	t.Run("caught", func(t *testing.T) {
		for _, fault := range Faults() {
			c, known := cases[fault.Case]
			if !known {
				t.Errorf("%s: there is no case %s", fault.Name, fault.Case)
				continue
			}
			if slices.Contains(h.Lacks, c.Needs) {
				continue
			}
			t.Run(strings.ReplaceAll(fault.Name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				report.add(fault.check(t, h, c, clean[fault.Case]))
			})
		}
	})
	t.Logf("%d faults\n%s", len(report.lines), report)
	t.Run("lacks", func(t *testing.T) { checkLacks(t, h) })
}

// cleanRuns answers, for every case that a fault names, how it goes without one. Each is run once, when first asked for.
func cleanRuns(t *testing.T, h jobstest.Harness, cases map[string]jobstest.Case) map[string]func() *recorder {
	runs := map[string]func() *recorder{}
	for _, fault := range Faults() {
		if c, known := cases[fault.Case]; known && runs[fault.Case] == nil {
			runs[fault.Case] = sync.OnceValue(func() *recorder {
				return record(t, func(t testing.TB) { c.Check(t, seed{}.into(h)) })
			})
		}
	}
	return runs
}

// check runs the case with the fault in it, and answers the line of the report.
func (f Fault) check(t *testing.T, h jobstest.Harness, c jobstest.Case, clean func() *recorder) string {
	h.Patience = patience
	began := time.Now()
	bad := record(t, func(t testing.TB) { c.Check(t, f.seed().into(h)) })
	took := time.Since(began).Round(10 * time.Millisecond)
	if failed, said := bad.said(f.Says); !failed {
		t.Errorf("%s: not caught by %s", f.Name, f.Case)
	} else if !said {
		t.Errorf("%s: %s failed, but not with %q:\n%s", f.Name, f.Case, f.Says, bad.text())
	}
	if without := clean(); without.Failed() {
		t.Errorf("%s fails without a fault:\n%s", f.Case, without.text())
	}
	verdict := "caught"
	if t.Failed() {
		verdict = "NOT CAUGHT"
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s", verdict, f.Name, f.Case, took)
}

// table is the report of a run.
type table struct {
	mu    sync.Mutex
	lines []string
}

func (r *table) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
}

func (r *table) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.lines)
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, line := range r.lines {
		_, _ = fmt.Fprintln(w, line)
	}
	_ = w.Flush()
	return text.String()
}
