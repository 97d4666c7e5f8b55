package events

import (
	"time"

	"github.com/postbus/postbus/internal/measure"
)

// told is what a pass tells the measures when it has committed.
type told struct {
	claimed  []claimedEvent
	answered time.Time      // when the claim came back
	made     int            // jobs
	faulty   []claimedEvent // failed by themselves, each counted on its row
}

// tell reports a pass that has committed. Events that it claimed and did not try are left to the pass that will.
func (f *fanner) tell(began time.Time) {
	m := f.relay.cfg.Measures
	if m == nil || len(f.claimed) == 0 {
		return
	}
	p := measure.Pass{
		Claimed: len(f.claimed), Fanned: len(f.seqs), Jobs: f.made, Took: time.Since(began),
		Recorded: make([]time.Time, 0, len(f.claimed)), Lags: make([]time.Duration, 0, len(f.seqs)),
	}
	since, next := time.Since(f.answered), 0
	for _, e := range f.claimed {
		if next == len(f.seqs) || f.seqs[next] != e.Seq { // both are in order
			continue
		}
		next++
		p.Lags = append(p.Lags, e.ClaimedAt.Sub(e.OccurredAt)+since) // by the database's clock, and what came after by ours
		if e.Fresh {
			p.Recorded = append(p.Recorded, e.OccurredAt)
		}
	}
	for _, e := range f.faulty {
		if e.Fresh {
			p.Recorded = append(p.Recorded, e.OccurredAt)
		}
	}
	m.Passed(p)
}
