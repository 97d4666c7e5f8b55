// Command model checks the wake-up, the claim and the mark of package events in every order in which their steps can meet.
//
// The protocol is written down once more, as states and atomic steps: each step names the function that it stands for (steps.go).
// All reachable states are visited, with crashes, rollbacks, lost connections, deaf listeners and transactions that commit when
// they please. What it promises of each case:
//
//   - No reachable state leads into a run in which a committed event waits for ever, where every step that stays possible is
//     taken in the end.
//   - Each (event, subscription) has at most one job in every state, and an event that was rolled back has none.
//   - What an event waits at most, in poll intervals, where time is counted.
//
// Planted mistakes, each with the case beside it that is right, show that the check can fail, and how.
package main
