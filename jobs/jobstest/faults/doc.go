// Package faults shows that the conformance suite can fail.
//
// Run wraps an adapter so that it breaks the contract in one way, a [Fault], and runs the case that names the fault against
// it. The case must fail, and say what the fault says; against the adapter wrapped without a fault the same case must
// pass. What is checked so is the suite, not the adapter: run it beside jobstest.Run, which must pass.
//
//	func TestFaults(t *testing.T) { faults.Run(t, harness()) }
package faults
