package river

import (
	"time"

	"github.com/riverqueue/river/rivertype"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/internal/measure"
)

// waited is how long a fetched job had been due.
func waited(row *rivertype.JobRow) time.Duration {
	if row.AttemptedAt == nil {
		return measure.Unknown
	}
	return max(row.AttemptedAt.Sub(row.ScheduledAt), 0) // the enqueuer's clock may be ahead of the database's
}

// tell reports the outcomes that were recorded; those of runs that had been taken back were not.
func (s *settler) tell(batch []outcome, rows []riversql.SettleJobsRow) {
	if s.measures == nil {
		return
	}
	place := make(map[int64]int, len(batch))
	for i, o := range batch {
		place[o.id] = i
	}
	for _, row := range rows {
		if i, ok := place[row.ID]; ok {
			o := batch[i]
			tellEnd(s.measures, o.kind, o.verdict, row.State, o.waited, o.ran)
		}
	}
}

// tellEnd reports the end of a run that left its job in one of River's states. A run that was interrupted has ended nothing.
func tellEnd(m *measure.Measures, kind, verdict, state string, waited, ran time.Duration) {
	switch {
	case state == completed:
		m.JobEnded(kind, measure.Completed, waited, ran)
	case state == discarded:
		m.JobEnded(kind, measure.Discarded, waited, ran)
	case state == cancelled:
		m.JobEnded(kind, measure.Cancelled, waited, ran)
	case verdict == failed:
		m.JobEnded(kind, measure.Retried, waited, ran)
	case verdict == snoozing:
		m.JobEnded(kind, measure.Snoozed, waited, ran)
	}
}
