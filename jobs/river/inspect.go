package river

import (
	"context"
	"errors"
	"fmt"

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
	store    store
	queues   map[string]int // workers of this process
	enqueuer *enqueuer
}

var _ jobs.Inspector = (*inspector)(nil)

func (i *inspector) With(tx pgx.Tx) jobs.Inspector {
	within := *i
	within.store = i.store.within(tx)
	within.enqueuer = i.enqueuer.With(tx).(*enqueuer)
	return &within
}

// db is where reads go.
func (i *inspector) db() pg.DBTX {
	if i.store.tx != nil {
		return i.store.tx
	}
	return i.store.pool
}

func (i *inspector) queries() *riversql.Queries { return riversql.New(i.db()) }

// planned answers queries whose plan depends on their values: "any kind" and "this rare kind" are one statement.
func (i *inspector) planned() *riversql.Queries { return riversql.New(planEach{i.db()}) }

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
