// Package jobs holds the ports through which everything above the queue talks to it: Jobs makes jobs, Inspector looks
// at and repairs them, Runtime runs them. The queue behind the ports is swappable; package jobs/river is the adapter
// of today and package jobs/jobstest is the contract as a suite that every adapter must pass.
//
// The contract, whatever runs underneath:
//
//   - Only strings and JSON cross the ports. A kind is a string, args are a JSON object, an id is an opaque string.
//   - A job made with a transaction ([Jobs.With]) exists if and only if the transaction commits.
//   - A handler runs at least once. It must be idempotent: a worker may die after the effect and before the record.
//   - There is no order between jobs.
//   - Retrying has one owner, this layer: a client that a handler calls must not retry by itself.
//   - nil completes the job. [Snooze] brings it back later without spending an attempt. [Discard] ends it as discarded.
//     Any other error, a panic and a timeout spend an attempt and retry on the kind's [Backoff]; the last attempt
//     discards. A cancel from outside ends it as cancelled.
//   - A job that ends as discarded stays and is reported until somebody retries, cancels or acknowledges it: nothing fails
//     in silence. Once acknowledged it is pruned, 30 days after its end by default.
//   - Args are at most 1 MiB. An id that no job has, malformed or not, is [ErrNotFound]; what no page gave as a cursor, and a
//     filter that cannot be meant, is [ErrInvalid]. Times are UTC.
//   - A blocked queue never delays another.
//
// Optional abilities of an adapter are declared on the suite's harness and checked to fail cleanly where absent.
package jobs
