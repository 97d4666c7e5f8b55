// Package lint holds the rules that keep side effects behind the bus, for any repository: `postbus lint` runs them for users, and the
// gates of this tree run the same code.
//
// What it promises:
//
//   - events: every table that a .sql file creates says in a comment before it what becomes of its changes, "-- events: emit" or
//     "-- events: none (reason)", and a table that emits has a capture: a trigger in SQL, a Capture literal in Go, or a line
//     "postbus capture add TABLE" in any text file.
//   - effects: Go code of a request's path holds no capability to send mail or to call the world.
//   - retry: no Go code waits inside a loop to try again.
//   - periodic: no Go code makes a clock of its own.
//   - Nothing of the code is run, compiled or asked for over the network. A file that does not parse is a finding.
//   - A finding names the file and line, the rule and the way out. There is no list of excused files.
//
// What is written over several strings, made at run time or by a generator is not seen.
package lint
