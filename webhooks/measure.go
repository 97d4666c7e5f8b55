package webhooks

import (
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
	"github.com/postbus/postbus/internal/measure"
)

// ends are what the turns of a transaction came to, to be told once it has committed.
type ends struct {
	attempts []attemptEnd
	givenUp  int64 // deliveries that were discarded without an attempt
}

type attemptEnd struct {
	outcome measure.DeliveryOutcome
	latency time.Duration
}

// settled notes what the database made of the turns' results. A request that was cut off has ended nothing.
func (e *ends) settled(rows []webhooksql.SettleDeliveriesRow, turns []turn) {
	states := make(map[int64]DeliveryState, len(rows))
	for _, row := range rows {
		states[row.ID] = DeliveryState(row.State)
	}
	for _, t := range turns {
		if t.sent == nil {
			continue
		}
		state, ok := states[t.sent.ID]
		if !ok {
			continue
		}
		delete(states, t.sent.ID)
		latency := time.Duration(measure.Unknown)
		if t.answer != nil && t.result.sent {
			latency = t.answer.latency
		}
		switch {
		case state == Delivered:
			e.attempts = append(e.attempts, attemptEnd{measure.Delivered, latency})
		case state == Discarded:
			e.attempts = append(e.attempts, attemptEnd{measure.GivenUp, latency})
		case t.result.sent:
			e.attempts = append(e.attempts, attemptEnd{measure.Failed, latency})
		}
	}
}

func (e *ends) tell(m *measure.Measures) {
	for _, a := range e.attempts {
		m.DeliveryEnded(a.outcome, a.latency)
	}
	m.DeliveriesGivenUp(e.givenUp)
}
