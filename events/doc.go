// Package events is the outbox and the bus over it: an event is recorded in the transaction of the change it tells of, a
// relay claims it, and each subscription gets exactly one job for it.
//
// What it promises:
//
//   - A rollback means no event, a commit means one: [Recorder] writes through the caller's transaction, and a [Capture]
//     writes from a trigger on the table itself.
//   - There is no cursor. The relay claims unmarked rows (fanned_out_at and poisoned_at are null) under
//     FOR UPDATE SKIP LOCKED, so an event that commits late, out of its seq order, is claimed like any other.
//   - Claim, jobs and mark are one transaction: a crash anywhere takes back all three. Each (event, subscription) becomes
//     exactly one job, however many relays run; handling it is at least once, so handlers are idempotent.
//   - A lost notification costs time and nothing else: every relay polls.
//   - An event that cannot be fanned out through its own fault costs only itself. After 5 failures it is poisoned, set
//     aside and reported by [Bus.Alerts] until [Bus.Requeue] puts it back.
//   - No order across events.
//   - A type that nobody declared is refused. A type is internal unless it is declared with the exposure [Webhook], and a
//     subscription with the effect [Delivery] is never told of an internal one.
//
// Types and subscriptions are data, mirrored into the database by every process that declares them. A relay fans out for
// every subscription of every application on the database, not only for those it knows itself. A name belongs to one
// application, except where all that declare a subscription declare it as Shared.
//
// A replay ([Bus.StartReplay]) hands history again, or for the first time, to a subscription or to a target from above. Handlers
// run again for what they have handled. It walks what was fanned out before it was asked for, in batches that are each one
// transaction: a crash neither doubles nor skips an event. Events that commit meanwhile, however late, reach their subscribers
// the usual way. What retention has removed before the walk comes by is gone.
//
// Limits: a type or subscription name has at most 120 bytes, data at most 256 KiB (Config.MaxDataBytes), a pass claims at
// most 200 events (Config.BatchSize; 1,000 where they make few jobs), a wide job covers at most 1,000 (Subscription.Batch), fanned events are kept 7 days (Config.Retention) and longer while a job of theirs
// is unfinished or a [Retainer] holds them.
package events
