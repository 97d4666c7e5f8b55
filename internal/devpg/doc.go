// Package devpg runs a private Postgres for the demo and the tests, on a machine where nothing is
// running yet.
//
// What it promises:
//
//   - The server listens on loopback only and trusts whoever connects there: it is for development.
//   - It never outlives the process that started it, not even where that process is killed: a
//     supervisor holds one end of a pipe and stops the server when the other end closes.
//   - With no Dir, everything is in a temporary folder that goes when the server stops. With a Dir,
//     the data stay and the next Start finds them.
//   - Postgres refuses to run as root. Where we are root it runs as the user postgres, else nobody.
//   - The binaries are those on PATH, else the newest that a package put in its usual place, else
//     they are downloaded once and kept in the user's cache folder.
//
// It needs a Unix system.
package devpg
