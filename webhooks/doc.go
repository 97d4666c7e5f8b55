// Package webhooks delivers events to HTTP endpoints, in the Standard Webhooks format
// (https://www.standardwebhooks.com): signed, retried, bounded and visible.
//
// What it promises:
//
//   - No webhook is sent for a change that was rolled back, and none is missing for one that was committed: a delivery is made
//     by the fan-out of a recorded event.
//   - Only types declared with the exposure events.Webhook leave, looked at again when the fan-out runs.
//   - One delivery for each (endpoint, event), by a constraint that has no end. It is sent at least once; webhook-id is the
//     event's id, the same over all attempts, by which a receiver tells a repetition.
//   - At most MaxInFlight requests of an endpoint are under way at a time, over all processes and through crashes: a slot is
//     leased for longer than a request can take, and nothing else sends while the lease stands.
//   - While a request is under way no connection to the database is held.
//   - Every attempt is on record with status, latency, headers and the first 16 KiB of the answer. What is given up is
//     discarded with its reason and raises an alert; what met a disabled endpoint is skipped with its reason. Both can be
//     sent again.
//   - Order, where an endpoint asks for it: the deliveries of a subject are sent one after the other, by the events' seq among
//     those that are visible. A retry blocks its subject; giving up releases it. Transactions commit out of their seq order,
//     so an event that becomes visible after a later one was sent comes after it.
//   - Requests go to public addresses only, judged when they are dialled; see Config.Allow.
//
// How it works. The subscription webhook.fanout writes one delivery row for each matching endpoint of the event's owner and
// opens a lane where fewer than MaxInFlight are open. A lane is a job of the kind webhook.deliver: it holds one slot of the
// endpoint and sends due deliveries one after the other; the transaction that records one result takes the next delivery,
// and sets one more aside, which is sent while the success of the one before is recorded. So a deep backlog costs one short
// transaction a delivery and no job wakes up in vain. Retries are rows with a time; a poll each second opens lanes for what
// falls due. Lanes of a failing endpoint run in a queue of their own, so that many dead receivers never use up the workers of
// the living ones.
//
// Limits: 10 s for a whole exchange, 18 attempts over 5.3 days, 6 days for the life of a delivery, 64 KiB read of an answer and
// 16 KiB kept, attempts kept 30 days, deliveries as long as their event.
package webhooks
