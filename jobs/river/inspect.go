package river

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

const (
	defaultPage = 50
	maxPage     = 200
	maxBulk     = 10_000
)

// inspector is the jobs.Inspector, through the pool or through a transaction.
type inspector struct {
	db       pg.DBTX
	queues   map[string]int // workers of this process
	enqueuer *enqueuer
}

var _ jobs.Inspector = (*inspector)(nil)

func (i *inspector) With(tx pgx.Tx) jobs.Inspector {
	within := *i
	within.db = tx
	within.enqueuer = i.enqueuer.With(tx).(*enqueuer)
	return &within
}

func (i *inspector) queries() *riversql.Queries { return riversql.New(i.db) }

// planned answers queries whose plan depends on their values: "any kind" and "this rare kind" are one statement.
func (i *inspector) planned() *riversql.Queries { return riversql.New(planEach{i.db}) }

// planEach has the server plan each execution with its values at hand, where a named statement may get a generic plan.
type planEach struct{ riversql.DBTX }

func (p planEach) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return p.DBTX.Query(ctx, sql, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
}

func (p planEach) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return p.DBTX.QueryRow(ctx, sql, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
}

func (p planEach) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return p.DBTX.Exec(ctx, sql, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
}

func (i *inspector) List(ctx context.Context, filter jobs.Filter) (jobs.Page, error) {
	params, ok, err := listParams(filter)
	if err != nil || !ok {
		return jobs.Page{}, err
	}
	limit := min(filter.Limit, maxPage)
	if limit <= 0 {
		limit = defaultPage
	}
	if err := i.narrow(ctx, &params); err != nil {
		return jobs.Page{}, err
	}
	params.Most = int32(limit) + 1 // one more tells whether there is a next page
	rows, err := i.planned().ListJobs(ctx, params)
	if err != nil {
		return jobs.Page{}, fmt.Errorf("list jobs: %w", err)
	}
	var page jobs.Page
	if len(rows) > limit {
		rows = rows[:limit]
		page.Next = cursorAfter(rows[limit-1].ID)
	}
	for _, row := range rows {
		job, err := shownJob(row)
		if err != nil {
			return jobs.Page{}, err
		}
		page.Jobs = append(page.Jobs, job)
	}
	return page, nil
}

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

func (i *inspector) Get(ctx context.Context, id jobs.JobID) (jobs.Job, error) {
	number, err := parseID(id)
	if err != nil {
		return jobs.Job{}, err
	}
	rows, err := i.queries().ListJobs(ctx, riversql.ListJobsParams{
		Ids: []int64{number}, Kinds: []string{}, Queues: []string{}, States: []string{}, Waiting: []int64{}, Most: 1,
	})
	if err != nil {
		return jobs.Job{}, fmt.Errorf("get job %s: %w", id, err)
	}
	if len(rows) == 0 {
		return jobs.Job{}, fmt.Errorf("job %s: %w", id, jobs.ErrNotFound)
	}
	return shownJob(rows[0])
}

func (i *inspector) Unfinished(ctx context.Context, ids []jobs.JobID) ([]jobs.JobID, error) {
	numbers := parseIDs(ids)
	if len(numbers) == 0 {
		return nil, nil
	}
	left, err := i.queries().UnfinishedJobs(ctx, riversql.UnfinishedJobsParams{Ids: numbers})
	if err != nil {
		return nil, fmt.Errorf("find unfinished jobs: %w", err)
	}
	open := make(map[int64]bool, len(left))
	for _, id := range left {
		open[id] = true
	}
	var unfinished []jobs.JobID
	for _, id := range numbers {
		if open[id] {
			unfinished = append(unfinished, jobID(id))
			delete(open, id) // an id that is asked for twice is answered once
		}
	}
	return unfinished, nil
}

// conflicts reports that another job took the unique key in between.
func conflicts(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == "23505"
}
