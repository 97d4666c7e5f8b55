package measure

import "slices"

// series numbers what is counted.
type series uint8

const (
	recorded series = iota
	fanned
	passes
	jobsCompleted
	jobsRetried
	jobsSnoozed
	jobsDiscarded
	jobsCancelled
	jobsWait
	delivered
	deliveryFailed
	deliveryDiscarded
	seriesCount
)

// names are the series as the table and stats.series call them.
var names = [seriesCount]string{
	recorded: "events.recorded", fanned: "events.fanned", passes: "relay.passes",
	jobsCompleted: "jobs.completed", jobsRetried: "jobs.retried", jobsSnoozed: "jobs.snoozed",
	jobsDiscarded: "jobs.discarded", jobsCancelled: "jobs.cancelled", jobsWait: "jobs.wait",
	delivered: "deliveries.delivered", deliveryFailed: "deliveries.failed", deliveryDiscarded: "deliveries.discarded",
}

// Series are the names of what is counted, as the table has them.
func Series() []string { return slices.Clone(names[:]) }

// JobOutcome is what the end of a run means for its job.
type JobOutcome uint8

const (
	// Completed jobs are done.
	Completed JobOutcome = iota
	// Retried jobs failed and run again.
	Retried
	// Snoozed jobs asked to run later.
	Snoozed
	// Discarded jobs failed for good.
	Discarded
	// Cancelled jobs were ended by somebody.
	Cancelled
	jobOutcomes
)

func (o JobOutcome) String() string {
	return [jobOutcomes]string{"completed", "retried", "snoozed", "discarded", "cancelled"}[o]
}

func (o JobOutcome) series() series { return jobsCompleted + series(o) }

// DeliveryOutcome is what an attempt means for its delivery.
type DeliveryOutcome uint8

const (
	// Delivered deliveries have reached their receiver.
	Delivered DeliveryOutcome = iota
	// Failed ones are tried again.
	Failed
	// GivenUp ones were discarded.
	GivenUp
	deliveryOutcomes
)

func (o DeliveryOutcome) String() string {
	return [deliveryOutcomes]string{"delivered", "failed", "discarded"}[o]
}

func (o DeliveryOutcome) series() series { return delivered + series(o) }

// Unknown is a duration that nobody measured.
const Unknown = -1

const (
	// maxKinds is how many kinds of job a process tells apart.
	maxKinds = 100
	// otherKinds is the label of the rest. No kind can have this name.
	otherKinds = "(other)"
)
