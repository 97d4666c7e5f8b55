package webhooks

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

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
	if quiet, err = e.takeDue(ctx, quiet, nil); err != nil {
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
