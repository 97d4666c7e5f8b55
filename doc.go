// Package postbus is an event bus for people who already run Postgres: record an event in the transaction of the change,
// and every subscriber gets exactly one durable job for it.
//
// This package composes the others and adds nothing of its own: [New] takes a pool and one [Config] of declarations,
// [Bus.Start] migrates, declares and runs, [Bus.Stop] lets the work finish.
//
//   - events: the outbox, row capture, the relay, subscriptions
//   - jobs: the queue's ports; jobs/river is the adapter behind them
//   - pg: transactions, the listener, migrations
//
// What is promised, hop by hop, is in docs/guarantees.md.
package postbus
