// Package seed fills a database with a bus's history, fast: jobs, events, deliveries with their attempts, and audit lines in
// realistic proportions, and everything else in small numbers. Tests of plans and the benchmark of reads share it.
//
// What it promises:
//
//   - The rows depend on their numbers alone: number 1 is the newest, a second younger than number 2. A bigger history is the
//     same one, reaching further back.
//   - [Calls] has inputs for every operation that reads: each filter alone, filters together, filters that match nothing.
package seed
