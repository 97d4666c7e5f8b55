// Command postbus runs a bus beside a Postgres, for applications in any language, and is the command line of its operations.
//
//	postbus serve                 the relay, workers, webhooks and the HTTP API, until SIGTERM
//	postbus dev                   serve on a private Postgres of its own, for trying out
//	postbus migrate up|status|sql the tables
//	postbus capture add TABLE …   an event for every change of a table's rows
//	postbus health                whether a server can work, for images without another program to ask with
//	postbus tasks list …          every operation: see package ops/cli
//
// What it promises:
//
//   - A setting is taken from its flag, else the environment (POSTBUS_*), else the file of --config, else its default. A key that
//     there is not is an error. serve --print-config shows the result without secrets.
//   - serve waits for a Postgres that is away, and /readyz says why it is not ready.
//   - On SIGTERM and SIGINT it takes no new work, lets what runs end, and is gone within 20 s. A second signal ends it at once.
package main
