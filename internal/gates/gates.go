package gates

import (
	"cmp"
	"fmt"
	"slices"
)

// Rule is one gate.
type Rule struct {
	Name  string
	Text  string // What holds, in one line.
	Check func(*Module) []Finding
}

// Rules lists every rule, in the order in which they are reported.
func Rules() []Rule {
	return []Rule{
		{"arrows", "packages import downwards only, as the table in arrows.go draws it", checkArrows},
		{"pulls", "importing a room pulls no foreign library that it is to be free of", checkPulls},
		{"river", "riverqueue is imported only by jobs/river", checkRiver},
		{"begin", "transactions begin only in pg and in test code", checkBegin},
		{"goroutine", "go statements stand only in internal/loop, pg and test code", checkGoroutine},
		{"clock", "tickers and sleeps stand only in internal/loop, time.Sleep in no test", checkClock},
		{"sql", "SQL is written in .sql files, except in pg, internal/devpg, the capture files of events and test code", checkSQL},
		{"docgo", "every package has a doc.go with a package comment", checkDocGo},
		{"comments", "every exported identifier has a comment", checkComments},
		{"size", "no file is longer than 500 lines", checkSize},
		{"migrations", "migrations are numbered pairs with a header that says why", checkMigrations},
		{"events", "every table says whether its changes are events, and one that emits has a capture", offered("events")},
		{"effects", "mail and HTTP clients stand only in the rooms that own them, on no request's path", checkEffects},
		{"retry", "loops that wait and try again stand only in the rooms that reach for the database or make jobs", checkRetry},
		{"periodic", "no room has a clock of its own beside the scheduler's", offered("periodic")},
	}
}

// Finding is one breach of a rule.
type Finding struct {
	File string // Relative to the module.
	Line int
	Rule string
	What string
	Fix  string // The way out.
}

// String prints the finding in the form that editors jump to.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s; %s", f.File, f.Line, f.Rule, f.What, f.Fix)
}

// Check runs the named rules, all of them when none is named, and returns what they found in order of place.
func Check(m *Module, names ...string) ([]Finding, error) {
	found := slices.Clone(m.Broken)
	known := Rules()
	for _, name := range names {
		if !slices.ContainsFunc(known, func(r Rule) bool { return r.Name == name }) {
			return nil, fmt.Errorf("no rule is named %q; gate -list shows them", name)
		}
	}
	for _, rule := range known {
		if len(names) > 0 && !slices.Contains(names, rule.Name) {
			continue
		}
		for _, f := range rule.Check(m) {
			f.Rule = rule.Name
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.What, b.What))
	})
	return slices.Compact(found), nil
}
