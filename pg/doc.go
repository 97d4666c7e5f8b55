// Package pg is what Postbus needs of Postgres beneath its rooms: transactions, notifications,
// migrations, and words for the database's errors.
//
// What it promises:
//
//   - InTx commits what its function did, or nothing of it: an error, a panic and a cancelled
//     context all roll back. A commit whose outcome nobody knows is told apart (ErrCommitUnknown).
//   - InShortTx does the same, and leaves nothing locked for more than seconds when the process stands still in the middle.
//   - InSnapshot has several reads see one state of the database.
//   - Nested does the same inside a transaction, with a savepoint that costs the outer one nothing
//     when it fails.
//   - A Listener keeps one connection per process. It never gives up, and whenever something may
//     have been missed it says so (Notification.Resync): whoever looks again on a Resync and polls
//     now and then misses nothing. Delivery itself is not promised: a NOTIFY is a hint.
//   - A Listener says when it is deaf (a pooler swallowed LISTEN): then users poll.
//   - Migrate brings any older database to this version, once, however many processes boot.
//
// SQL stands in Go here, and only here: this room is below what sqlc can compile.
package pg
