package faults

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/jobs/jobstest"
)

func TestARecorderHoldsTheFailureAndCleansUp(t *testing.T) {
	t.Parallel()
	var steps []string
	r := record(t, func(t testing.TB) {
		t.Cleanup(func() { steps = append(steps, "first") })
		t.Cleanup(func() { steps = append(steps, "second"); t.FailNow() })
		t.Cleanup(func() {
			if t.Context().Err() != nil {
				steps = append(steps, "context ended")
			}
		})
		t.Errorf("one %s", "error")
		t.Fatal("the end")
		steps = append(steps, "after the end")
	})
	if diff := cmp.Diff([]string{"context ended", "second", "first"}, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if failed, said := r.said("one error"); !failed || !said {
		t.Errorf("the recorder heard %q, failed: %v", r.text(), failed)
	}
	if t.Failed() {
		t.Errorf("a recorded failure reached the test")
	}
}

func TestARecorderTakesAPanicForAFailure(t *testing.T) {
	t.Parallel()
	r := record(t, func(testing.TB) { panic("boom") })
	if failed, said := r.said("boom"); !failed || !said {
		t.Errorf("the recorder heard %q, failed: %v", r.text(), failed)
	}
	if fine := record(t, func(testing.TB) {}); fine.Failed() {
		t.Errorf("a case that did nothing failed")
	}
}

func TestEveryFaultNamesACase(t *testing.T) {
	t.Parallel()
	known, names := map[string]bool{}, map[string]bool{}
	for _, c := range jobstest.Cases() {
		known[c.ID()] = true
	}
	for _, fault := range Faults() {
		if !known[fault.Case] || fault.Says == "" || names[fault.Name] {
			t.Errorf("fault %q: name a case that exists (%q) and what it says (%q), once", fault.Name, fault.Case, fault.Says)
		}
		names[fault.Name] = true
	}
}
