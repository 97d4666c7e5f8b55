// Package testdb gives each test a database of its own on a real Postgres.
//
// A package's tests name their migrations once:
//
//	func TestMain(m *testing.M) { testdb.Run(m, migrate) }
//
// Then, in a test, New returns a pool on a fresh, migrated database, and Empty one on a database
// with nothing in it.
//
// What it promises:
//
//   - No test sees another's rows: each call makes a database, copied from a template that is
//     migrated once per test binary, and drops it when the test ends.
//   - Nothing has to run beforehand: the first call starts a private server (internal/devpg),
//     which ends with the test binary however that ends. Where TEST_DATABASE_URL names a server,
//     that one is used; its role must be allowed to create databases.
//   - What tests log goes through Log, Logged or LogTo into one place, where it is searched for secrets.
//   - A connection that a test took and did not give back fails that test.
//
// For waiting on a condition see internal/wait.
package testdb
