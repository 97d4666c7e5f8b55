// Package work serves subscriptions and job kinds whose work is done outside of Go processes, in any language: a worker claims jobs
// under a lease, and completes, fails or extends each. It is the Go side of the functions postbus.claim_work, extend_work,
// complete_work and fail_work, which workers with a connection to the database call themselves; the operations work.* are made of it.
//
// What it promises is the contract of jobs.Leases: at least once, no two workers on one job, attempts and backoff as for Go handlers,
// and a lease that is lost counts for nothing. A claim may wait for work: it is woken by the channel postbus_work, and looks once a
// second besides. At most 64 claims wait in one process; one more is answered at once.
package work
