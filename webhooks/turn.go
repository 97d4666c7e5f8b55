package webhooks

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

// taken is a delivery in a lane's hand.
type taken struct {
	webhooksql.TakeDeliveriesRow
	// received is when it came from the database, by this process's clock.
	received time.Time
	// delay is how long to wait before sending it, where the endpoint has a rate.
	delay time.Duration
}

// turn is what a lane asks: record this result, give me the next.
type turn struct {
	args laneArgs
	// sent is the delivery that was in the lane's hand, result what became of it; nil at the lane's beginning.
	sent   *taken
	result *outcome
	answer *reply // what the receiver answered, where result says that there is something to put on record
	// bare leaves the attempt off the record: it could not be written, and the result matters more.
	bare bool
	// ahead is the id of the delivery that the lane has set aside; 0 is none.
	ahead int64
	// early says that the delivery set aside is being sent while this is recorded.
	early bool
	// last says that the lane ends with this turn: its slot goes on under a new job if there is more to do.
	last bool
}

// turned is the answer.
type turned struct {
	next *taken
	// kept is the lease under which what the lane had set aside is now its delivery in flight; "" where it had nothing, or
	// another hand settled it.
	kept string
	// ahead is set aside: the lane may send it once the one before has succeeded.
	ahead *taken
	// version is the endpoint's, by which the lane knows whether what it remembers still holds.
	version int64
	// again is how long to wait before the same question; 0 means that the lane is over.
	again time.Duration
	// leased is how long another hand may still hold the slot's delivery.
	leased time.Duration
}

const (
	// lookAgain is the pause where a fan-out is under way beside a lane that would close.
	lookAgain = 5 * time.Millisecond
	// linger is how long a lane waits for the next delivery to fall due rather than close.
	linger = 300 * time.Millisecond
	// holdHead is how long the head of a line waits for an earlier event.
	holdHead = 200 * time.Millisecond
	// maxDelay is how far ahead of its endpoint's rate a delivery is taken.
	maxDelay = time.Second
)

// session is the transaction of some lanes' turns.
type session struct {
	s         *Service
	tx        pgx.Tx
	turns     []turn
	answers   []turned
	endpoints map[string]*webhooksql.LockEndpointsRow
	slots     map[string]webhooksql.LockSlotsRow
	ends      ends
}

// take makes the turns in one transaction and answers them in order, with what is to be told once it has committed.
func (s *Service) take(ctx context.Context, tx pgx.Tx, turns []turn) ([]turned, ends, error) {
	e := &session{s: s, tx: tx, turns: turns, answers: make([]turned, len(turns))}
	for _, step := range []func(context.Context) error{e.lock, e.settle, e.hand} {
		if err := step(ctx); err != nil {
			return nil, ends{}, err
		}
	}
	return e.answers, e.ends, nil
}

// lock takes the endpoints' rows, then the slots: all other hands wait.
func (e *session) lock(ctx context.Context) error {
	ids, tokens := map[string]bool{}, []string{}
	for _, t := range e.turns {
		ids[t.args.EndpointID] = true
		tokens = append(tokens, t.args.Token)
	}
	rows, err := queries(e.tx).LockEndpoints(ctx, webhooksql.LockEndpointsParams{Ids: slices.Sorted(maps.Keys(ids))})
	if err != nil {
		return err
	}
	e.endpoints = make(map[string]*webhooksql.LockEndpointsRow, len(rows))
	for i := range rows {
		e.endpoints[rows[i].ID] = &rows[i]
	}
	slots, err := queries(e.tx).LockSlots(ctx, webhooksql.LockSlotsParams{Tokens: tokens})
	if err != nil {
		return err
	}
	e.slots = make(map[string]webhooksql.LockSlotsRow, len(slots))
	for _, slot := range slots {
		e.slots[slot.Token] = slot
	}
	return nil
}

// holds says whether the turn's lane still has its slot and, where it sent something, its lease.
func (e *session) holds(t turn) bool {
	slot, ok := e.slots[t.args.Token]
	if !ok {
		return false
	}
	return t.sent == nil || slot.Lease != nil && *slot.Lease == t.sent.Lease && slot.DeliveryID == t.sent.ID
}

// open says whether the endpoint may be sent to now.
func (e *session) open(endpointID string) bool {
	row := e.endpoints[endpointID]
	return row != nil && row.Enabled && !row.Cooling
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
