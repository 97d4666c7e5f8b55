package river

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/jobs"
)

// overlap is how far ids and times of creation may disagree: no statement that enqueues takes as long.
const overlap = 10 * time.Minute

// boundTime narrows the ids to those that the filter's times leave: rows are found by id, and a time alone would be looked
// for in all of them.
func (i *inspector) boundTime(ctx context.Context, params *riversql.ListJobsParams) error {
	if !params.After.IsZero() {
		id, err := i.queries().FindIDAt(ctx, riversql.FindIDAtParams{MadeAt: params.After.Add(-overlap)})
		if err != nil {
			return fmt.Errorf("find the first job of the time: %w", err)
		}
		params.FromID = id
	}
	if !params.Before.IsZero() {
		id, err := i.queries().FindIDAt(ctx, riversql.FindIDAtParams{MadeAt: params.Before.Add(overlap)})
		if err != nil {
			return fmt.Errorf("find the last job of the time: %w", err)
		}
		if params.Below == 0 || id < params.Below {
			params.Below = max(id, 1)
		}
	}
	return nil
}

// cursorPrefix tells our cursors from other texts.
const cursorPrefix = "j"

func cursorAfter(id int64) string { return cursorPrefix + strconv.FormatInt(id, 10) }

func parseCursor(cursor string) (below int64, err error) {
	digits, ours := strings.CutPrefix(cursor, cursorPrefix)
	below, err = strconv.ParseInt(digits, 10, 64)
	if !ours || err != nil || below < 1 || cursorAfter(below) != cursor {
		return 0, fmt.Errorf("%w: cursor %q: use Page.Next of the page before, or none", jobs.ErrInvalid, cursor)
	}
	return below, nil
}

// listParams answers the query's parameters, and false where the filter cannot match anything.
func listParams(filter jobs.Filter) (params riversql.ListJobsParams, ok bool, err error) {
	params = riversql.ListJobsParams{
		Ids: parseIDs(filter.IDs), Kinds: texts(filter.Kinds), Queues: []string{}, States: []string{}, Waiting: []int64{},
		Owner: filter.Owner, After: filter.After, Before: filter.Before, Unacked: filter.Unacked,
	}
	if len(filter.IDs) > 0 && len(params.Ids) == 0 {
		return params, false, nil
	}
	for _, queue := range filter.Queues {
		params.Queues = append(params.Queues, storedQueue(queue))
	}
	for _, text := range append(append(texts(filter.Kinds), params.Queues...), filter.Owner) {
		if checkText("the filter", text) != nil {
			return params, false, nil // no job has such a text
		}
	}
	if len(filter.Args) > 0 {
		if _, err := checkJSON(filter.Args); err != nil {
			return params, false, fmt.Errorf("%w: args of the filter: %w", jobs.ErrInvalid, err)
		}
		params.Args = string(filter.Args)
	}
	if filter.Cursor != "" {
		if params.Below, err = parseCursor(filter.Cursor); err != nil {
			return params, false, err
		}
	}
	return params, true, filterStates(&params, filter.States)
}

// filterStates maps the port's states to River's. Available jobs are pending, or retryable where they wait for an attempt:
// those are told apart by their ids.
func filterStates(params *riversql.ListJobsParams, states []jobs.State) error {
	for _, state := range states {
		switch state {
		case jobs.Pending:
			params.States = append(params.States, stateAvailable, "pending", "scheduled")
		case jobs.Retryable:
			params.States = append(params.States, stateWaiting, "retryable")
		case jobs.Running, jobs.Completed, jobs.Discarded, jobs.Cancelled:
			params.States = append(params.States, string(state))
		default:
			return fmt.Errorf("%w: state %q: use %v", jobs.ErrInvalid, state, jobs.States())
		}
	}
	return nil
}

// narrow looks up what the query takes as ids: the jobs that wait, and the times.
func (i *inspector) narrow(ctx context.Context, params *riversql.ListJobsParams) error {
	if slices.Contains(params.States, stateAvailable) || slices.Contains(params.States, stateWaiting) {
		waiting, err := i.planned().ListWaiting(ctx, riversql.ListWaitingParams{Most: maxBulk})
		if err != nil {
			return fmt.Errorf("list jobs that wait for an attempt: %w", err)
		}
		params.Waiting = append(params.Waiting, waiting...)
	}
	return i.boundTime(ctx, params)
}

func texts(given []string) []string { return append([]string{}, given...) }
