package webhooks

import (
	"context"
	"slices"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

// plan is what becomes of the turns, by their places.
type plan struct {
	promote []int // what is set aside is in flight from now on
	retake  []int // a dead hand's delivery is sent again
	take    []int // due deliveries are looked for
	last    []int // the slot goes on under a new job
	end     []int // the slot is given up
}

// hand gives the turns their next deliveries.
func (e *session) hand(ctx context.Context) error {
	p, err := e.plan(ctx)
	if err != nil {
		return err
	}
	lost, err := e.promote(ctx, p.promote)
	if err != nil {
		return err
	}
	settled, err := e.retake(ctx, p.retake)
	if err != nil {
		return err
	}
	// A slot whose delivery was settled otherwise is free.
	if err := e.free(ctx, slices.Concat(lost, settled)); err != nil {
		return err
	}
	for _, i := range slices.Concat(lost, settled) {
		switch {
		case e.goesOn(i):
			p.take = append(p.take, i)
		case e.open(e.turns[i].args.EndpointID):
			p.last = append(p.last, i)
		default:
			p.end = append(p.end, i)
		}
	}
	idle, err := e.takeDue(ctx, p.take, e.setAside(p))
	if err != nil {
		return err
	}
	return e.end(ctx, idle, p.last, p.end)
}

func (e *session) plan(ctx context.Context) (p plan, err error) {
	for i, t := range e.turns {
		slot := e.slots[t.args.Token]
		row := e.endpoints[t.args.EndpointID]
		if row != nil {
			e.answers[i].version = row.Version
		}
		switch {
		case slot.Token == "": // another job has it: the lane is over
		case !e.holds(t):
			// A turn before gave the slot something else to do and its answer was lost, or another run of the job has it. To be
			// over now would leave a slot that nobody has: the lane asks again, as if it began.
			e.answers[i].again = lookAgain
		case t.early: // it is under way, whatever became of the endpoint
			p.promote = append(p.promote, i)
		case t.sent == nil && slot.DeliveryID != 0 && slot.LeaseSeconds > 0:
			e.answers[i].leased = seconds(slot.LeaseSeconds)
		case !e.open(t.args.EndpointID):
			if err := e.abandon(ctx, row, slot, t.sent == nil); err != nil {
				return p, err
			}
			p.end = append(p.end, i)
		case slot.Slot > row.MaxInFlight: // the endpoint allows fewer by now
			p.end = append(p.end, i)
		case t.sent == nil && slot.DeliveryID != 0:
			p.retake = append(p.retake, i)
		case !e.goesOn(i):
			p.last = append(p.last, i)
		case t.ahead != 0 && t.ahead == slot.AheadID:
			p.promote = append(p.promote, i)
		default:
			p.take = append(p.take, i)
		}
	}
	return p, nil
}

// goesOn says whether the turn's lane may have another delivery: its time is not up, its endpoint takes, and its queue is the
// one that fits.
func (e *session) goesOn(at int) bool {
	t := e.turns[at]
	row := e.endpoints[t.args.EndpointID]
	return !t.last && e.open(t.args.EndpointID) && t.args.Failing == (row.FailingSince != nil) &&
		e.slots[t.args.Token].Slot <= row.MaxInFlight
}

// setAside are the turns that get something to set aside: not those of failing endpoints and of endpoints with a rate, where
// the next request waits for more than the last one's success.
func (e *session) setAside(p plan) []int {
	var of []int
	for _, i := range slices.Concat(p.promote, p.take) {
		row := e.endpoints[e.turns[i].args.EndpointID]
		if e.goesOn(i) && !e.turns[i].args.Failing && row.RatePerSecond == 0 {
			of = append(of, i)
		}
	}
	return of
}

// abandon gives up the delivery that a dead hand left in the slot of an endpoint that is gone or disabled.
func (e *session) abandon(ctx context.Context, row *webhooksql.LockEndpointsRow, slot webhooksql.LockSlotsRow, left bool) error {
	switch {
	case !left || slot.DeliveryID == 0:
		return nil
	case row == nil:
		return e.giveUp(ctx, slot.DeliveryID, "endpoint deleted")
	case !row.Enabled:
		return e.giveUp(ctx, slot.DeliveryID, disabled(row.DisabledReason))
	}
	return nil // it cools down: the delivery stays due
}

func (e *session) tokens(of []int) []string {
	tokens := make([]string, len(of))
	for i, at := range of {
		tokens[i] = e.turns[at].args.Token
	}
	return tokens
}

func (e *session) free(ctx context.Context, of []int) error {
	if len(of) == 0 {
		return nil
	}
	return queries(e.tx).ClearSlots(ctx, webhooksql.ClearSlotsParams{Tokens: e.tokens(of)})
}
