// Package rig is what the figures are measured on: a private Postgres that keeps what it commits, databases that start
// empty, and writers that commit transactions as fast as they can.
//
// What it promises:
//
//   - The server runs with fsync and synchronous_commit on. Checkpoints come when the rig asks for one, before a window,
//     and never inside it, so that no side of a pair pays for the other's writes.
//   - It is gone when the process is, however that ends.
//   - [Writers] counts only what was committed inside the window, after a warm-up.
package rig
