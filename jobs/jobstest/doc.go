// Package jobstest is the contract of package jobs as a suite: an adapter that passes it keeps what the ports promise.
//
// An adapter calls it from one small file, conformance_test.go:
//
//	func TestConformance(t *testing.T) { jobstest.Run(t, harness()) }
//
//	func harness() jobstest.Harness {
//		return jobstest.Harness{
//			Database: func(t testing.TB) *pgxpool.Pool { … a pool on a fresh, migrated database … },
//			New: func(t testing.TB, pool *pgxpool.Pool, spec jobstest.Spec) (jobs.Runtime, error) {
//				listener := … made from pool, closed by t.Cleanup …
//				return river.New(pool, river.Config{App: spec.App, Instance: spec.Instance, Kinds: spec.Kinds, …})
//			},
//		}
//	}
//
// What the suite does with it, and what an adapter must do for it:
//
//   - Every case takes a database of its own from Harness.Database, so that cases run side by side.
//   - Every instance takes a pool of its own, and that pool is the instance's only way to the database: New makes every
//     connection, a listener's too, from pool.Config(), whose DialFunc belongs to the suite. The suite kills an instance
//     by cutting those connections, as a crash or a lost network does: nothing of the instance is written from then on.
//     It deafens one by swallowing its notifications. An adapter has nothing to write for either.
//   - New answers the error of its constructor as it is; the suite has cases that declare what cannot be declared.
//   - The suite starts an instance and stops it at the end of the case, after every handler was let go and before
//     the cleanups that New registered.
//   - New is free to make the adapter quicker than its defaults (fetch cooldown, polling), never to change what it does.
//
// A case states one sentence of the contract and waits on signals and conditions, at most Harness.Patience for what must
// happen; what must not happen is shown by something later that did. Most of a case is waiting: let many run at once ([SideBySide]).
//
// A [Capability] that an adapter lacks is named in Harness.Lacks. Cases that need it are then replaced by one that checks
// that asking for it fails cleanly: an error that is errors.ErrUnsupported, and nothing changed. None is skipped.
//
// Package faults shows that the suite can fail: it seeds faults into an adapter and checks that each is caught by the case
// that names it.
package jobstest
