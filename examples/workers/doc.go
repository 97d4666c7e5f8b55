// Package workers has no code of its own: the files beside it are workers for Postbus in Python, Node and shell, made to be copied.
// docs/work.md says what they rely on.
//
// What its tests promise of each of them:
//
//   - Killed at any moment it loses no event, sees none that was rolled back, and what it writes in the completing transaction is
//     there once. What it does outside of the database may be done again, with the same event id.
//   - It extends the lease of a long job, lets go of a job whose lease is lost or that is asked to stop, and goes on with the next.
//   - On SIGTERM it hands its job over, without an attempt spent, and ends with status 0.
//
// They hold the SQL surface for workers too: one holder of a lease, what ends it, rights, what is refused, and what postbus.enqueue and
// the declarations in SQL do.
//
// They want node with npm, or Debian's node-pg, and python3-psycopg; "make drivers" installs them.
package workers
