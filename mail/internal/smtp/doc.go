// Package smtp hands one mail to one server, once. It is the only place that speaks SMTP, and reachable from package mail only.
//
// It promises: one connection and one try for each Send, which the context ends at any point; no password in any error; and a Refused
// where the server said that this recipient or this mail will never do, so that everything else may be tried again.
package smtp
