package webhooks

import (
	"context"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

// retake gives slots back the delivery that a dead or late hand held, to be sent again under the same webhook-id. It answers
// the turns whose delivery was settled meanwhile.
func (e *session) retake(ctx context.Context, of []int) (rest []int, err error) {
	if len(of) == 0 {
		return nil, nil
	}
	rows, err := queries(e.tx).RetakeDeliveries(ctx, webhooksql.RetakeDeliveriesParams{
		Tokens: e.tokens(of), LeaseSeconds: e.s.lease().Seconds(),
	})
	if err != nil {
		return nil, err
	}
	byToken := make(map[string]taken, len(rows))
	for _, row := range rows {
		byToken[row.Token] = taken{TakeDeliveriesRow: webhooksql.TakeDeliveriesRow(row), received: time.Now()}
	}
	for _, i := range of {
		t, ok := byToken[e.turns[i].args.Token]
		if !ok {
			rest = append(rest, i)
			continue
		}
		bad, err := e.give(ctx, i, t)
		if err != nil {
			return nil, err
		}
		if bad {
			rest = append(rest, i)
		}
	}
	return rest, nil
}

// takeDue takes due deliveries for the turns and answers those that got none.
func (e *session) takeDue(ctx context.Context, of []int) (rest []int, err error) {
	// Another round makes up for deliveries that can only be discarded.
	for range 3 {
		if of, rest, err = e.budget(ctx, of, rest); err != nil || len(of) == 0 {
			return rest, err
		}
		p := webhooksql.TakeDeliveriesParams{LeaseSeconds: e.s.lease().Seconds()}
		for _, i := range of {
			p.Tokens = append(p.Tokens, e.turns[i].args.Token)
			p.EndpointIds = append(p.EndpointIds, e.turns[i].args.EndpointID)
			p.Ords = append(p.Ords, int32(i))
		}
		rows, err := queries(e.tx).TakeDeliveries(ctx, p)
		if err != nil {
			return nil, err
		}
		if of, rest, err = e.deal(ctx, of, rest, rows); err != nil {
			return nil, err
		}
	}
	return append(rest, of...), nil
}

// deal gives what was taken to the turns. It answers those that got something unfit to be sent, and adds to rest those that
// got nothing.
func (e *session) deal(ctx context.Context, of, rest []int, rows []webhooksql.TakeDeliveriesRow) (again, without []int, err error) {
	byToken := make(map[string]taken, len(rows))
	sends := map[string]float64{}
	for _, row := range rows {
		byToken[row.Token] = taken{TakeDeliveriesRow: row, received: time.Now()}
	}
	for _, i := range of {
		t, ok := byToken[e.turns[i].args.Token]
		if !ok {
			rest = append(rest, i)
			continue
		}
		id := e.turns[i].args.EndpointID
		if row := e.endpoints[id]; row.RatePerSecond > 0 {
			t.delay = seconds(row.PacedSeconds)
			row.PacedSeconds += 1 / float64(row.RatePerSecond)
		}
		bad, err := e.give(ctx, i, t)
		if err != nil {
			return nil, nil, err
		}
		if bad {
			again = append(again, i)
		} else if e.endpoints[id].RatePerSecond > 0 {
			sends[id]++
		}
	}
	for id, n := range sends {
		if err := queries(e.tx).Pace(ctx, webhooksql.PaceParams{ID: id, Sends: n}); err != nil {
			return nil, nil, err
		}
	}
	return again, rest, nil
}

// give answers a turn with a delivery, unless there is nothing to send: an event that is no more, a life that is over.
func (e *session) give(ctx context.Context, at int, t taken) (unfit bool, err error) {
	switch {
	case t.Pruned:
		return true, e.discard(ctx, e.turns[at].args.EndpointID, t, "event pruned")
	case t.Expired:
		return true, e.discard(ctx, e.turns[at].args.EndpointID, t, "expired before its next attempt")
	}
	e.answers[at].next = &t
	return false, nil
}

func (e *session) discard(ctx context.Context, endpointID string, t taken, why string) error {
	if err := e.giveUp(ctx, t.ID, why); err != nil || t.Line == "" {
		return err
	}
	return e.s.lineUp(ctx, e.tx, endpointID, []string{t.Line})
}

// giveUp discards a delivery that was not sent.
func (e *session) giveUp(ctx context.Context, deliveryID int64, why string) error {
	return queries(e.tx).SettleDeliveries(ctx, webhooksql.SettleDeliveriesParams{
		DeliveryIds: []int64{deliveryID}, States: []string{string(Discarded)}, Reasons: []string{why},
		Spent: []int32{0}, Tries: []int32{0}, WaitsSeconds: []float64{0},
	})
}

// budget holds back heads of lines that must wait for an earlier event, and turns whose endpoint has used up its rate.
func (e *session) budget(ctx context.Context, of, rest []int) (fit, held []int, err error) {
	looked := map[string]bool{}
	ahead := map[string]float64{}
	for _, i := range of {
		id := e.turns[i].args.EndpointID
		row := e.endpoints[id]
		if row.Ordered && !looked[id] {
			looked[id] = true
			_, err := queries(e.tx).PostponeHeads(ctx, webhooksql.PostponeHeadsParams{
				EndpointID: id, WaitSeconds: holdHead.Seconds(), Look: int32(len(of)) + row.MaxInFlight,
			})
			if err != nil {
				return nil, nil, err
			}
		}
		if row.RatePerSecond > 0 {
			if _, ok := ahead[id]; !ok {
				ahead[id] = row.PacedSeconds
			}
			if ahead[id] > maxDelay.Seconds() {
				rest = append(rest, i)
				continue
			}
			ahead[id] += 1 / float64(row.RatePerSecond)
		}
		fit = append(fit, i)
	}
	return fit, rest, nil
}
