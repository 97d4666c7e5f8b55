// Package mailing sends notes by mail, through the bus: what a request does is to record an event, and nothing that it holds could
// send a mail. Begin at Declare.
//
// What it promises:
//
//   - The answer to a request claims what is committed: the event. The mail is "sending" until the job that sends it has completed,
//     then "sent"; "failed" is one that was given up, with the reason.
//   - Asking twice sends two mails: each is an event of its own. A retry of one never sends a second, but for a crash between the
//     server's answer and the mark, under the same Message-ID.
package mailing
