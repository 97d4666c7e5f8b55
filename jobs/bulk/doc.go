// Package bulk retries, cancels or acknowledges any number of jobs by a filter, as one act in the background.
//
// What it promises:
//
//   - An act is a row and a job of the kind [Kind], made in one transaction: it is begun if and only if that commits.
//   - The job works in chunks of at most 1,000 jobs. What a chunk does and the progress that it notes commit together: a process
//     that dies at any moment loses nothing and repeats nothing, and whoever runs the job next goes on from there.
//   - The act goes from the newest job down and comes by each once. Jobs made since it was asked for are no part of it, and a
//     job that it has retried and that fails again is not retried again.
//   - How far it is can be read at any time. Stopping it lets the chunk that is under way end; what was changed stays.
//   - A chunk that fails is tried again by the kind's policy; when that gives up the act has failed, its job is discarded and
//     its alert stands. Retrying the job makes the act go on.
//   - An act keeps to the jobs of its filter's owner. It never touches its own job, which has no owner.
//   - Acts are kept 30 days after their end.
//
// Acts share the queue of maintenance and take turns of a few seconds in it. What should be done at once and fits in one
// transaction is [jobs.Inspector]'s: RetryMany and its like.
package bulk
