// Package mail tells people of events by mail: rules say which events are mailed to whom, and how the mail reads.
//
// What it promises:
//
//   - No mail is sent for a change that was rolled back, and none is missing for one that was committed: mails are made by the
//     fan-out of a recorded event, and sent by jobs. Nothing on a request's path can send one.
//   - One mail for each (rule, event, recipient), by a constraint, in a job of its own: a retry never mails the others again.
//   - It is sent at least once: sent first, marked afterwards. A process that is killed between the two sends it again, under the
//     same Message-ID, by which mail programs tell a repetition. The Message-ID is the event's id at the sender's domain.
//   - A recipient gets at most Config.RecipientCap mails in a window, over all rules and processes, and a rule lets go of at most its
//     Burst in one. What is over waits for a later window: it is never dropped, and spends no attempt.
//   - What data say cannot become a header, a second recipient or a second mail, and cannot hold up others: see package letter.
//
// How it works. The triggers on the rules' table keep the types of the subscription mail.rules: an event for which no rule has a glob
// makes no job. Its job writes one row of postbus.mails and one job of the kind owner.notify for each recipient. That job makes the text,
// takes a slot of the recipient's window, hands the mail to the server once, and marks the row.
//
// An answer 4xx, a network that fails, a login that is refused: the job is retried, 8 attempts over about 6 hours. An answer 5xx about the
// recipient or the mail, a template that fails, an address that is none: the job is discarded with the reason, which raises an alert.
package mail
