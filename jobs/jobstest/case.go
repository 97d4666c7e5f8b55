package jobstest

import (
	"flag"
	"slices"
	"strconv"
	"testing"
)

// Case is one sentence of the contract and the check that guards it.
type Case struct {
	Topic string
	Name  string
	// Sentence is the promise that the case guards.
	Sentence string
	// Needs is what an adapter must be able to do for it; "" is nothing beside the contract.
	Needs Capability

	run func(e *env)
}

// ID is Topic/Name, the name of the case's subtest.
func (c Case) ID() string { return c.Topic + "/" + c.Name }

// Cases lists the whole suite by topic.
func Cases() []Case {
	return slices.Concat(
		enqueueCases(), payloadCases(), transactionCases(), scheduleCases(), uniqueCases(),
		retryCases(), ranCases(), snoozeCases(), discardCases(), panicCases(), timeoutCases(), cancelCases(),
		isolationCases(), waitCases(), stopCases(), rescueCases(),
		inspectCases(), bulkCases(), manyCases(), pauseCases(), periodicCases(), externalCases(),
	)
}

// Run checks an adapter against the whole contract.
func Run(t *testing.T, h Harness) {
	for _, c := range Cases() {
		if slices.Contains(h.Lacks, c.Needs) {
			continue
		}
		t.Run(c.ID(), func(t *testing.T) {
			t.Parallel()
			c.Check(t, h)
		})
	}
	for _, lacking := range h.Lacks {
		c := Lacking(lacking)
		t.Run(c.ID(), func(t *testing.T) {
			t.Parallel()
			c.Check(t, h)
		})
	}
}

// Check checks an adapter against this one case.
func (c Case) Check(t testing.TB, h Harness) {
	t.Helper()
	t.Logf("promise: %s", c.Sentence)
	e := newEnv(t, h)
	defer close(e.over)
	c.run(e)
}

// SideBySide lets n cases run at once where go test is not told otherwise by -parallel, which is the number of processors
// by default: too few for cases that wait. Call it in TestMain, before m.Run.
func SideBySide(n int) error { return flag.Set("test.parallel", strconv.Itoa(n)) }
