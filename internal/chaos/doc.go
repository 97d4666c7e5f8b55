// Package chaos runs a whole bus while everything around it breaks, and counts afterwards what was lost, doubled or made up:
// docs/chaos.md.
//
// What it promises:
//
//   - One seed is one plan of faults and one course of the writers. What the machine makes of it in time differs from run to run.
//   - The faults are real: signals to processes, sockets that break, a Postgres that is stopped. The product has no hook for them.
//   - The checker compares what was noted outside of the product with what is in its tables. Duplicate handling is counted and
//     allowed; everything else must be zero.
//   - The checker can fail: Plants puts a fault into the product's source at build time, and each is found.
package chaos
