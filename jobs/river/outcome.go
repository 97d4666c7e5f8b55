package river

import (
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
)

// Verdicts, as settle.sql knows them.
const (
	completed   = "completed"
	failed      = "failed"
	discarded   = "discarded"
	cancelled   = "cancelled"
	snoozing    = "snoozed"
	interrupted = "interrupted"
)

const (
	maxErrorBytes = 16 << 10
	maxStackBytes = 32 << 10
	maxWait       = 100 * 365 * day
)

// outcome is how one run ended.
type outcome struct {
	runKey
	attempt int
	verdict string
	wait    time.Duration // until the next attempt of a failed or snoozed job
	err     string        // "" records no error
	trace   string
	receipt bool
	result  string // of a run that completed, "" for none
	kind    string
	waited  time.Duration // since it was due
	ran     time.Duration
}

// fault is why the run failed, in one word; "" where it did not. The text is the database's: it may hold anything.
func (o outcome) fault() string {
	switch {
	case o.trace != "":
		return "panic"
	case o.verdict == failed, o.verdict == discarded:
		return o.verdict
	}
	return ""
}

// storable answers the outcome as the database can keep it.
func (o outcome) storable() outcome {
	o.err = storable(o.err, maxErrorBytes)
	o.trace = storable(o.trace, maxStackBytes)
	if o.err == "" && (o.verdict == failed || o.verdict == discarded) {
		o.err = "an error without a text"
	}
	o.wait = min(max(o.wait, 0), maxWait)
	return o
}

func settleParams(batch []outcome) riversql.SettleJobsParams {
	var p riversql.SettleJobsParams
	for _, o := range batch {
		p.Ids = append(p.Ids, o.id)
		p.Attempts = append(p.Attempts, int32(o.attempt))
		p.AttemptedAts = append(p.AttemptedAts, time.UnixMicro(o.attempted).UTC())
		p.Verdicts = append(p.Verdicts, o.verdict)
		p.WaitUs = append(p.WaitUs, o.wait.Microseconds())
		p.Errors = append(p.Errors, o.err)
		p.Traces = append(p.Traces, o.trace)
		p.Receipts = append(p.Receipts, o.receipt)
		p.Results = append(p.Results, o.result)
	}
	return p
}
