// Package sink is a receiver of webhooks that costs little: it counts requests and notes when each came.
//
// What it promises:
//
//   - A request counts once for its path and webhook-id; [Sink.Arrivals] has the first of each.
//   - Each answer, a 200 with no body, takes the time that it was started with, and no more than timers add.
//   - Paths that hang take the whole request and answer nothing until the client goes or the sink stops.
//   - [Post] is a client that does nothing but send: what this machine can do at the same concurrency.
package sink
