// Package loop starts and stops the long-running loops of the bus. It is the one place where
// goroutines are made, so that every one of them has an owner who can stop it.
//
// What it promises:
//
//   - Stop cancels the context given to the function and returns after the function has. A loop
//     that was never started, or was stopped already, stops at once; Stop may be called from many
//     goroutines.
//   - Two runs of one Runner or Ticker never overlap, also where Start follows Stop closely.
//   - A panic is caught and logged with its stack. It ends a Runner's run; a Ticker takes it for a
//     failed pass and goes on.
//   - A Wake is never lost: a pass begins after every Wake. Wakes that arrive while a pass waits to
//     begin share it.
//   - A failing Ticker slows down (BackoffBase doubling to BackoffMax) and no Wake hurries it.
//
// A function must not stop its own loop: it would wait for itself. It returns instead.
package loop
