package webhooks

import (
	"context"
	"maps"
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
		byToken[row.Token] = taken{TakeDeliveriesRow: webhooksql.TakeDeliveriesRow(row)}
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
		byToken[row.Token] = taken{TakeDeliveriesRow: row}
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

// end lets lanes go that have nothing to do, those whose time is up and those whose endpoint takes nothing.
func (e *session) end(ctx context.Context, idle, last, closers []int) error {
	alone, err := e.alone(ctx, slices.Concat(idle, last))
	if err != nil {
		return err
	}
	var quiet []int
	for _, i := range idle {
		if alone[e.turns[i].args.EndpointID] {
			quiet = append(quiet, i)
		} else {
			e.answers[i].again = lookAgain
		}
	}
	if err := e.free(ctx, slices.Concat(idle, last)); err != nil {
		return err
	}
	if quiet, err = e.takeDue(ctx, quiet); err != nil {
		return err
	}
	for _, i := range quiet {
		wait, err := e.untilNext(ctx, e.turns[i].args.EndpointID)
		if err != nil {
			return err
		}
		if wait > linger {
			closers = append(closers, i)
		} else {
			e.answers[i].again = max(wait, lookAgain)
		}
	}
	for _, i := range last {
		wait, err := e.untilNext(ctx, e.turns[i].args.EndpointID)
		if err != nil {
			return err
		}
		if wait > 0 && alone[e.turns[i].args.EndpointID] {
			closers = append(closers, i)
		} else if err := e.passOn(ctx, i); err != nil {
			return err
		}
	}
	if len(closers) == 0 {
		return nil
	}
	return queries(e.tx).CloseSlots(ctx, webhooksql.CloseSlotsParams{Tokens: e.tokens(closers)})
}

// alone answers for which of the turns' endpoints no fan-out is under way. One that is may have counted on a lane that would
// close: such a lane goes on.
func (e *session) alone(ctx context.Context, of []int) (map[string]bool, error) {
	if len(of) == 0 {
		return nil, nil
	}
	ids := map[string]bool{}
	for _, i := range of {
		ids[e.turns[i].args.EndpointID] = true
	}
	got, err := queries(e.tx).AloneWith(ctx, webhooksql.AloneWithParams{Ids: slices.Sorted(maps.Keys(ids))})
	if err != nil {
		return nil, err
	}
	alone := make(map[string]bool, len(got))
	for _, id := range got {
		alone[id] = true
	}
	return alone, nil
}

// untilNext is how long it is until the endpoint's next delivery may go, at most a little more than a lane would wait.
func (e *session) untilNext(ctx context.Context, endpointID string) (time.Duration, error) {
	horizon := time.Minute
	s, err := queries(e.tx).SecondsToNext(ctx, webhooksql.SecondsToNextParams{EndpointID: endpointID, Horizon: horizon.Seconds()})
	if err != nil {
		return 0, err
	}
	next := seconds(s)
	if row := e.endpoints[endpointID]; row != nil && row.RatePerSecond > 0 {
		next = max(next, seconds(row.PacedSeconds)-maxDelay)
	}
	return next, nil
}

// passOn gives the turn's slot to a new job, at the end of the queue that fits the endpoint.
func (e *session) passOn(ctx context.Context, at int) error {
	rows, err := queries(e.tx).PassOn(ctx, webhooksql.PassOnParams{Token: e.turns[at].args.Token})
	if err != nil {
		return err
	}
	var lanes []lane
	for _, row := range rows {
		end := e.endpoints[row.EndpointID]
		lanes = append(lanes, lane{owner: end.OwnerID, args: laneArgs{
			EndpointID: row.EndpointID, Token: row.Token, Failing: end.FailingSince != nil,
		}})
	}
	return e.s.enqueueLanes(ctx, e.tx, lanes)
}
