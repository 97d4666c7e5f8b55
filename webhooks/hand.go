package webhooks

import (
	"context"
	"slices"
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

// promote makes what the turns had set aside their delivery in flight. It answers those whose was settled meanwhile.
func (e *session) promote(ctx context.Context, of []int) (lost []int, err error) {
	if len(of) == 0 {
		return nil, nil
	}
	rows, err := queries(e.tx).Promote(ctx, webhooksql.PromoteParams{Tokens: e.tokens(of), LeaseSeconds: e.s.lease().Seconds()})
	if err != nil {
		return nil, err
	}
	kept := make(map[string]string, len(rows))
	for _, row := range rows {
		kept[row.Token] = row.Lease
	}
	for _, i := range of {
		if e.answers[i].kept = kept[e.turns[i].args.Token]; e.answers[i].kept == "" {
			lost = append(lost, i)
		}
	}
	return lost, nil
}

// takeDue takes due deliveries for the turns, some to be sent and some to be set aside, and answers the turns of which got
// nothing to send.
func (e *session) takeDue(ctx context.Context, of, aside []int) (idle []int, err error) {
	if err := e.holdHeads(ctx, slices.Concat(of, aside)); err != nil {
		return nil, err
	}
	// Another round makes up for deliveries that can only be discarded.
	for range 3 {
		if of, idle = e.budget(of, idle); len(of)+len(aside) == 0 {
			return idle, nil
		}
		p := webhooksql.TakeDeliveriesParams{LeaseSeconds: e.s.lease().Seconds()}
		e.want(&p, of, false)
		e.want(&p, aside, true)
		rows, err := queries(e.tx).TakeDeliveries(ctx, p)
		if err != nil {
			return nil, err
		}
		if of, idle, err = e.deal(ctx, of, idle, rows); err != nil {
			return nil, err
		}
		aside = nil
	}
	return append(idle, of...), nil
}

func (e *session) want(p *webhooksql.TakeDeliveriesParams, of []int, ahead bool) {
	for _, i := range of {
		p.Tokens = append(p.Tokens, e.turns[i].args.Token)
		p.EndpointIds = append(p.EndpointIds, e.turns[i].args.EndpointID)
		p.Aheads, p.Ords = append(p.Aheads, ahead), append(p.Ords, int32(i))
	}
}

// deal gives what was taken to the turns. It answers those that got something unfit to be sent, and adds to idle those that
// got nothing.
func (e *session) deal(ctx context.Context, of, idle []int, rows []webhooksql.TakeDeliveriesRow) (again, without []int, err error) {
	place := make(map[string]int, len(e.turns))
	for i, t := range e.turns {
		place[t.args.Token] = i
	}
	byTurn := make(map[int]taken, len(rows))
	for _, row := range rows {
		t := taken{TakeDeliveriesRow: row, received: time.Now()}
		if i := place[row.Token]; !row.Ahead {
			byTurn[i] = t
		} else if !row.Pruned && !row.Expired { // an unfit one stays due, and is discarded by who takes it to send it
			e.answers[i].ahead = &t
		}
	}
	sends := map[string]float64{}
	for _, i := range of {
		t, ok := byTurn[i]
		if !ok {
			idle = append(idle, i)
			continue
		}
		id := e.turns[i].args.EndpointID
		row := e.endpoints[id]
		if row.RatePerSecond > 0 {
			t.delay = seconds(row.PacedSeconds)
		}
		unfit, err := e.give(ctx, i, t)
		switch {
		case err != nil:
			return nil, nil, err
		case unfit:
			again = append(again, i)
		case row.RatePerSecond > 0:
			row.PacedSeconds += 1 / float64(row.RatePerSecond)
			sends[id]++
		}
	}
	for id, n := range sends {
		if err := queries(e.tx).Pace(ctx, webhooksql.PaceParams{ID: id, Sends: n}); err != nil {
			return nil, nil, err
		}
	}
	return again, idle, nil
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
	rows, err := queries(e.tx).SettleDeliveries(ctx, webhooksql.SettleDeliveriesParams{
		DeliveryIds: []int64{deliveryID}, States: []string{string(Discarded)}, Reasons: []string{why},
		Spent: []int32{0}, Tries: []int32{0}, WaitsSeconds: []float64{0},
	})
	e.ends.givenUp += int64(len(rows))
	return err
}

// holdHeads makes heads of lines wait that must let an earlier event go first.
func (e *session) holdHeads(ctx context.Context, of []int) error {
	looked := map[string]bool{}
	for _, i := range of {
		id := e.turns[i].args.EndpointID
		row := e.endpoints[id]
		if !row.Ordered || looked[id] {
			continue
		}
		looked[id] = true
		_, err := queries(e.tx).PostponeHeads(ctx, webhooksql.PostponeHeadsParams{
			EndpointID: id, WaitSeconds: holdHead.Seconds(), Look: int32(len(of)) + row.MaxInFlight,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// budget leaves out turns whose endpoint has used up its rate.
func (e *session) budget(of, idle []int) (fit, held []int) {
	ahead := map[string]float64{}
	for _, i := range of {
		id := e.turns[i].args.EndpointID
		row := e.endpoints[id]
		if row.RatePerSecond > 0 {
			if _, ok := ahead[id]; !ok {
				ahead[id] = row.PacedSeconds
			}
			if ahead[id] > maxDelay.Seconds() {
				idle = append(idle, i)
				continue
			}
			ahead[id] += 1 / float64(row.RatePerSecond)
		}
		fit = append(fit, i)
	}
	return fit, idle
}
