package river

import (
	"context"
	"fmt"
	"slices"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
)

// A page of a list looks at a bounded number of jobs, so that its cost does not grow with the history. What is asked for by state,
// kind and queue, or by owner alone, or unacknowledged alone, is found as a whole; a filter beside these is held against so many
// of the newest, and the next page goes on behind them.
const (
	// lookAll is of all jobs, which lie side by side; lookSome is of those that an index names, a page of the table each.
	lookAll, lookSome = 2000, 200
	// lookArgs is up to how many jobs args count as rare: those are found by their index.
	lookArgs = 64
	// maxGroups is how many (state, kind, queue) are read side by side.
	maxGroups = 1000
)

// look is one page of a list under way.
type look struct {
	queries *riversql.Queries
	params  riversql.ListJobsParams
	// groups are read side by side; nil where another index is better.
	groups *jobGroups
	// rest says that the filter asks for more than the index answers.
	rest bool
}

// jobGroups are (state, kind, queue), as columns.
type jobGroups struct{ states, kinds, queues []string }

// page answers up to most jobs, and the id below which the next page goes on, 0 where nothing is left.
func (l *look) page(ctx context.Context, most int) (rows []riversql.ListJobsRow, next int64, err error) {
	l.params.Most = int32(most) + 1 // one more tells whether there is a next page
	from := l.params.FromID
	floor := int64(0)
	if l.groups != nil || l.rest {
		n, low, err := l.floor(ctx, l.most(most+1))
		if err != nil {
			return nil, 0, fmt.Errorf("look at jobs: %w", err)
		}
		if n == 0 {
			return nil, 0, nil
		}
		if n == int64(l.most(most+1)) {
			floor = low
		}
		l.params.FromID = max(low, from)
	}
	if rows, err = l.list(ctx); err != nil {
		return nil, 0, fmt.Errorf("list jobs: %w", err)
	}
	if len(rows) > most {
		return rows[:most], rows[most-1].ID, nil
	}
	if floor == 0 {
		return rows, 0, nil
	}
	if l.params.Args != "" {
		l.params.FromID = from
		if rare, ok, err := l.rare(ctx, most); err != nil || ok {
			return cutJobs(rare, most, err)
		}
	}
	return rows, floor, nil
}

func cutJobs(rows []riversql.ListJobsRow, most int, err error) ([]riversql.ListJobsRow, int64, error) {
	if len(rows) > most {
		return rows[:most], rows[most-1].ID, err
	}
	return rows, 0, err
}

// most is how many jobs the page looks at.
func (l *look) most(page int) int32 {
	switch {
	case !l.rest:
		return int32(page)
	case l.groups == nil && l.params.Owner == "" && !l.params.Unacked:
		return int32(max(lookAll, page))
	default:
		return int32(max(lookSome, page))
	}
}

// floor answers how many there are to look at, and the last of them.
func (l *look) floor(ctx context.Context, most int32) (n, low int64, err error) {
	if l.groups == nil {
		row, err := l.queries.LookAtJobs(ctx, riversql.LookAtJobsParams{
			Owner: l.params.Owner, Unacked: l.params.Unacked && l.params.Owner == "", Below: l.params.Below, FromID: l.params.FromID, Look: most,
		})
		return row.N, row.Floor, err
	}
	skip, only := l.waiting()
	row, err := l.queries.LookAtGroups(ctx, riversql.LookAtGroupsParams{
		States: l.groups.states, Kinds: l.groups.kinds, Queues: l.groups.queues, Below: l.params.Below, FromID: l.params.FromID,
		SkipWaiting: skip, OnlyWaiting: only, Waiting: l.params.Waiting, Look: most,
	})
	return row.N, row.Floor, err
}

func (l *look) list(ctx context.Context) ([]riversql.ListJobsRow, error) {
	if l.groups == nil {
		return l.queries.ListJobs(ctx, l.params)
	}
	skip, only := l.waiting()
	rows, err := l.queries.ListGroups(ctx, riversql.ListGroupsParams{
		States: l.groups.states, Kinds: l.groups.kinds, Queues: l.groups.queues, Below: l.params.Below, FromID: l.params.FromID,
		SkipWaiting: skip, OnlyWaiting: only, Waiting: l.params.Waiting, Args: l.params.Args,
		After: l.params.After, Before: l.params.Before, Most: l.params.Most,
	})
	out := make([]riversql.ListJobsRow, len(rows))
	for i, row := range rows {
		out[i] = riversql.ListJobsRow(row)
	}
	return out, err
}

// waiting says what becomes of available jobs that wait for an attempt: they count as retryable.
func (l *look) waiting() (skip, only bool) {
	pending, retryable := slices.Contains(l.params.States, stateAvailable), slices.Contains(l.params.States, stateWaiting)
	return pending && !retryable, retryable && !pending
}

// rare answers the page as a whole where few jobs have such args.
func (l *look) rare(ctx context.Context, most int) ([]riversql.ListJobsRow, bool, error) {
	ids, err := l.queries.FindByArgs(ctx, riversql.FindByArgsParams{Args: l.params.Args, Look: lookArgs})
	if err != nil || len(ids) == lookArgs {
		return nil, false, err
	}
	params := l.params
	params.Ids, params.Most = append([]int64{}, ids...), int32(most)+1
	if len(ids) == 0 {
		return nil, true, nil
	}
	rows, err := l.queries.ListJobs(ctx, params)
	return rows, true, err
}

// lookAt chooses the index by which the jobs are found.
func (i *inspector) lookAt(ctx context.Context, params riversql.ListJobsParams) (*look, error) {
	l := &look{queries: i.planned(), params: params}
	residual := params.Args != "" || !params.After.IsZero() || !params.Before.IsZero()
	grouped := len(params.Kinds)+len(params.Queues)+len(params.States) > 0
	switch {
	case len(params.Ids) > 0:
	case params.Owner != "":
		l.rest = residual || grouped || params.Unacked
	case params.Unacked:
		l.rest = residual || grouped
	case grouped:
		l.rest = residual
		return l, l.group(ctx)
	default:
		l.rest = residual
	}
	return l, nil
}

// group finds the groups that match. Where there are too many to read side by side, all jobs are looked at.
func (l *look) group(ctx context.Context) error {
	found, err := findGroups(ctx, l.queries, riverStates(l.params), l.params.Kinds)
	if err != nil {
		return err
	}
	if len(found) == maxGroups {
		l.rest = true
		return nil
	}
	l.groups = &jobGroups{states: []string{}, kinds: []string{}, queues: []string{}}
	matches := func(wanted []string, one string) bool { return len(wanted) == 0 || slices.Contains(wanted, one) }
	for _, g := range found {
		if matches(l.params.Kinds, g.Kind) && matches(l.params.Queues, g.Queue) {
			l.groups.states = append(l.groups.states, g.State)
			l.groups.kinds = append(l.groups.kinds, g.Kind)
			l.groups.queues = append(l.groups.queues, g.Queue)
		}
	}
	return nil
}

func findGroups(ctx context.Context, queries *riversql.Queries, states, kinds []string) ([]riversql.JobGroupsRow, error) {
	found, err := queries.JobGroups(ctx, riversql.JobGroupsParams{States: states, Kinds: kinds, Most: maxGroups})
	if err != nil {
		return nil, fmt.Errorf("find states, kinds and queues of jobs: %w", err)
	}
	return found, nil
}

// openStates are River's states of jobs that need a worker or an operator, allStates all of them.
func openStates() []string {
	return []string{stateAvailable, "discarded", "pending", "retryable", "running", "scheduled"}
}

func allStates() []string { return append(openStates(), "cancelled", "completed") }

// riverStates are those in which the jobs of the filter can be.
func riverStates(params riversql.ListJobsParams) []string {
	if len(params.States) == 0 {
		return allStates()
	}
	var states []string
	for _, state := range params.States {
		if state != stateWaiting {
			states = append(states, state)
		}
	}
	if len(params.Waiting) > 0 && !slices.Contains(states, stateAvailable) {
		states = append(states, stateAvailable)
	}
	return slices.Compact(slices.Sorted(slices.Values(states)))
}
