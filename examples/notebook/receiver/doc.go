// Package receiver takes the webhooks of published notes, as any program elsewhere would: it knows the secret and nothing of
// the notebook's database.
//
// What it promises:
//
//   - A message is kept only if its signature holds and is recent (package webhooks/verify). All else is refused and counted.
//   - It is kept once, whatever the sender repeats: known ids are answered with success and counted as repeats.
//   - It is answered with success only after it was written to the journal, a file that only grows, and synced: what was
//     answered is remembered by the next process, and a line that a crash cut off is taken away at the next start.
//
// GET /received answers what was kept, by subject (?subject= for one), and how many were repeated and refused since this
// process began.
package receiver
