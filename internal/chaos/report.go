package chaos

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// Report is what a run found. Times are since its beginning, in nanoseconds in JSON.
type Report struct {
	Seed     uint64        `json:"seed"`
	Plant    string        `json:"plant,omitempty"`
	Duration time.Duration `json:"duration"`
	Buses    int           `json:"buses"`
	Began    time.Time     `json:"began"`
	// Ceased is when the last fault had ended, Rested when nothing was left to do; Drained says that nothing was.
	Ceased  time.Duration `json:"ceased"`
	Rested  time.Duration `json:"rested"`
	Drained bool          `json:"drained"`
	// Restarts of processes, planned ones and others; Crashes are panics and races among them.
	Restarts int `json:"restarts"`
	Crashes  int `json:"crashes"`
	// Unverified requests had no valid signature or timestamp: those of a process whose clock is off are refused, and sent again.
	Unverified int       `json:"unverified"`
	Counts     Counts    `json:"counts"`
	Findings   []Finding `json:"findings"`
	Faults     []Fault   `json:"faults"`
	Samples    []sample  `json:"samples"`

	// Handled is when handlers ran.
	Handled []time.Duration `json:"-"`
}

// OK says that every comparison found nothing.
func (r Report) OK() bool {
	return len(r.Findings) > 0 && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Count != 0 })
}

// Require fails the test for everything that is not zero.
func (r Report) Require(t testing.TB) {
	t.Helper()
	if len(r.Findings) == 0 {
		t.Error("the checker compared nothing")
	}
	for _, f := range r.Findings {
		if f.Count != 0 {
			t.Errorf("%s: %d %s: %s", f.Class, f.Count, f.What, strings.Join(f.Examples, "; "))
		}
	}
}

// Sum adds up the findings of a class.
func (r Report) sum(class string) (n int) {
	for _, f := range r.Findings {
		if f.Class == class {
			n += f.Count
		}
	}
	return n
}

// Print says it all in a page.
func (r Report) Print(to io.Writer) error {
	out := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "seed %d, %s of faults on %d buses, %d faults", r.Seed, r.Duration, r.Buses, len(r.Faults))
	if r.Plant != "" {
		fmt.Fprintf(out, ", planted: %s", r.Plant)
	}
	c := r.Counts
	fmt.Fprintf(out, "\nat rest %s after the last fault, %d restarts\n\n", (r.Rested - r.Ceased).Round(100*time.Millisecond), r.Restarts)
	for _, line := range []struct {
		what string
		n    int
		also string
	}{
		{"business rows", c.Committed, fmt.Sprintf("%d rolled back, %d unknown of which %d are there", c.RolledBack, c.Unknown, c.UnknownThere)},
		{"events", c.Events, fmt.Sprintf("%d removed by retention", c.Retired)},
		{"jobs", c.Jobs, fmt.Sprintf("%d wide ones, %d with an error", c.WideJobs, c.JobsWithError)},
		{"handled", c.Handled, fmt.Sprintf("%d again", c.HandledAgain)},
		{"labels of the worker", c.Labels, ""},
		{"webhooks taken", c.Taken, fmt.Sprintf("%d again, of %d requests, %d without a valid signature or timestamp", c.TakenAgain, c.Requests, r.Unverified)},
		{"deliveries kept", c.Deliveries, fmt.Sprintf("%d attempts", c.AttemptsKept)},
	} {
		fmt.Fprintf(out, "%s\t%d\t%s\n", line.what, line.n, line.also)
	}
	fmt.Fprintln(out)
	for _, class := range []string{isLost, isDoubled, isPhantom, isOff} {
		fmt.Fprintf(out, "%s\t%d\t\n", class, r.sum(class))
		for _, f := range r.Findings {
			if f.Class == class && f.Count != 0 {
				fmt.Fprintf(out, "  %d %s", f.Count, f.What)
				if len(f.Examples) > 0 {
					fmt.Fprintf(out, ", such as %s", strings.Join(f.Examples[:min(3, len(f.Examples))], "; "))
				}
				fmt.Fprintln(out)
			}
		}
	}
	r.printRecoveries(out)
	return out.Flush()
}

// printRecoveries shows p50 and the longest recovery of each kind of fault, of those alone and of those among others.
func (r Report) printRecoveries(out io.Writer) {
	fmt.Fprintf(out, "\nrecovery\tfaults\tp50\tmax\tmax alone\n")
	byKind := map[string][]Fault{}
	var names []string
	for _, f := range r.Faults {
		if byKind[f.Kind] == nil {
			names = append(names, f.Kind)
		}
		byKind[f.Kind] = append(byKind[f.Kind], f)
	}
	slices.Sort(names)
	for _, name := range names {
		p50, longest, _ := recovery(byKind[name])
		_, alone, n := recovery(slices.DeleteFunc(slices.Clone(byKind[name]), func(f Fault) bool { return !f.Alone }))
		fmt.Fprintf(out, "%s\t%d\t%s\t%s\t%s\n", name, len(byKind[name]), shown(p50), shown(longest), map[bool]string{true: shown(alone), false: "-"}[n > 0])
	}
	p50, longest, _ := recovery(r.Faults)
	fmt.Fprintf(out, "all\t%d\t%s\t%s\t\n", len(r.Faults), shown(p50), shown(longest))
	for _, f := range r.Faults {
		if f.Error != "" {
			fmt.Fprintf(out, "did not come about: %s at %s: %s\n", f.Kind, f.At.Round(time.Millisecond), f.Error)
		}
	}
}

func shown(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }

func recovery(faults []Fault) (p50, longest time.Duration, n int) {
	var all []time.Duration
	for _, f := range faults {
		if f.Recovered != nil {
			all = append(all, *f.Recovered)
		}
	}
	if len(all) == 0 {
		return 0, 0, 0
	}
	slices.Sort(all)
	return all[len(all)/2], all[len(all)-1], len(all)
}

// write puts the report and the picture into the folder.
func (r Report) write(dir string) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("chaos: report: %w", err)
	}
	for name, content := range map[string][]byte{"report.json": raw, "timeline.svg": []byte(r.picture())} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return fmt.Errorf("chaos: report: %w", err)
		}
	}
	return nil
}
