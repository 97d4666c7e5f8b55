// Package opscli is the command line of the operations: `postbus tasks list --state retryable -o jsonl`. Commands are made
// from the registry, so that an operation that is declared has a command: its room is the command, its verb, with dashes for
// underscores, the subcommand, and each property of its input a flag.
//
// What it promises:
//
//   - Input is checked by the operation and nowhere else: flags only become JSON.
//   - A destructive operation without --yes shows what it would touch, and is refused.
//   - The exit status is 0 where it was done, 1 where it failed, 2 for a call that cannot be meant, 3 where the thing is not
//     there and 4 where it was refused. Answers go to the standard output, everything else to the standard error.
//   - A token is never shown, and never follows a redirect.
//   - In tables, text from the database cannot steer the terminal.
//
// Operations run on a server's HTTP API (--server, --token) or straight on a database (--database-url), where the caller may
// do everything: whoever has the address could in SQL.
package opscli
