// Package river is the adapter of today behind the ports of package jobs: it runs them on riverqueue/river, and is the
// only package that imports it. River fetches, dispatches, elects a leader and keeps the queue's tables; the rest is done
// here, because the contract asks for more than River gives:
//
//   - Inserting is one statement for a batch ([Runtime.EnqueueMany]); a duplicate under UniqueByArgs answers with the job
//     that stands, where River would fail the batch or the transaction.
//   - Recording how runs end is done here and guarded on the run (id, attempt and the time of its fetch), where River
//     guards on the state alone: a late record never ends a later run. An outcome is kept until the database takes it.
//     Kinds marked Receipt are recorded in small groups within milliseconds, with one notification a group.
//   - Runs of dead instances, runs that exceed their kind's timeout and runs that were fetched but whose answer was lost
//     go back to their queue: within ReapEvery + DeadAfter, and only while the own heartbeat is steady. River's rescuer,
//     which discards kinds that it does not know, is off.
//   - Periodics are rows: whoever inserts a tick's row enqueues its job.
//   - LISTEN goes through the process's one [pg.Listener]; without it everything works by polling.
//   - A discarded job is not pruned before somebody has acknowledged it.
//
// River's own name for a queue has no dots: "a.b" is stored as "a|b" and shown as "a.b".
package river
