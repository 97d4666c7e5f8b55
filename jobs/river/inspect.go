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
	ear      *ear // of this process's producers; nil where it works on no queue
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
func (i *inspector) planned() *riversql.Queries { return riversql.New(pg.Planned{DBTX: i.db()}) }

// snapshot calls fn with an inspector whose reads see one state of the database: a job that changes its state between two
// statements would be missed by both. A caller's transaction is taken as it is.
func (i *inspector) snapshot(ctx context.Context, fn func(context.Context, *inspector) error) error {
	if i.store.tx != nil {
		return fn(ctx, i)
	}
	return pg.InSnapshot(ctx, i.store.pool, func(ctx context.Context, tx pgx.Tx) error {
		within := *i
		within.store = i.store.within(tx)
		return fn(ctx, &within)
	})
}

func (i *inspector) List(ctx context.Context, filter jobs.Filter) (page jobs.Page, err error) {
	params, ok, err := listParams(filter)
	if err != nil || !ok {
		return jobs.Page{}, err
	}
	limit := min(filter.Limit, maxPage)
	if limit <= 0 {
		limit = defaultPage
	}
	err = i.snapshot(ctx, func(ctx context.Context, i *inspector) error {
		page, err = i.list(ctx, params, limit)
		return err
	})
	return page, err
}

func (i *inspector) list(ctx context.Context, params riversql.ListJobsParams, limit int) (page jobs.Page, err error) {
	if err := i.narrow(ctx, &params); err != nil {
		return jobs.Page{}, err
	}
	look, err := i.lookAt(ctx, params)
	if err != nil {
		return jobs.Page{}, err
	}
	rows, next, err := look.page(ctx, limit)
	if err != nil {
		return jobs.Page{}, err
	}
	if next > 0 {
		page.Next = cursorAfter(next)
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
