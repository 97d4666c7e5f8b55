package river

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/jobs"
)

const (
	// countCap is how far counts are exact; one more than it is counted, and said to be about.
	countCap = 10_000
	// sampleSize is how many of a kind's newest jobs are looked at to estimate its finished ones.
	sampleSize = 20_000
)

func counted(n int64) jobs.Count { return jobs.Count{N: n, About: n > countCap} }

// overviewCounts gathers an Overview.
type overviewCounts struct{ jobs.Overview }

func (c *overviewCounts) add(to *jobs.Count, n jobs.Count) {
	to.N += n.N
	to.About = to.About || n.About
}

func newOverviewCounts() *overviewCounts {
	c := &overviewCounts{jobs.Overview{States: map[jobs.State]jobs.Count{}, Kinds: map[string]jobs.KindCounts{}}}
	for _, state := range jobs.States() {
		c.States[state] = jobs.Count{}
	}
	return c
}

func (i *inspector) Overview(ctx context.Context, kind string) (jobs.Overview, error) {
	counts := newOverviewCounts()
	if checkText("kind", kind) != nil {
		return counts.Overview, nil // no kind has such a name
	}
	queries := i.planned()
	open, err := queries.CountOpen(ctx, riversql.CountOpenParams{Kind: kind, Most: countCap + 1})
	if err != nil {
		return jobs.Overview{}, fmt.Errorf("count unfinished jobs: %w", err)
	}
	waiting, err := queries.CountWaiting(ctx, riversql.CountWaitingParams{Most: countCap + 1})
	if err != nil {
		return jobs.Overview{}, fmt.Errorf("count jobs that wait for an attempt: %w", err)
	}
	waits := map[string]int64{}
	for _, row := range waiting {
		waits[row.Kind] += row.N
	}
	for _, row := range open {
		counts.open(row, waits[row.Kind])
	}
	if counts.OldestPending, err = oldestPending(ctx, queries, kind); err != nil {
		return jobs.Overview{}, fmt.Errorf("find the job that waits longest: %w", err)
	}
	unacked, err := queries.CountUnacked(ctx, riversql.CountUnackedParams{Kind: kind, Most: countCap + 1})
	if err != nil {
		return jobs.Overview{}, fmt.Errorf("count discarded jobs: %w", err)
	}
	counts.Unacked = counted(unacked)
	if kind == "" {
		err = counts.finished(ctx, queries)
	} else {
		err = counts.finishedOf(ctx, queries, kind)
	}
	if err != nil {
		return jobs.Overview{}, fmt.Errorf("count finished jobs: %w", err)
	}
	return counts.Overview, nil
}

func oldestPending(ctx context.Context, queries *riversql.Queries, kind string) (*time.Time, error) {
	var at time.Time
	var err error
	if kind == "" {
		at, err = queries.OldestPending(ctx)
	} else {
		at, err = queries.OldestPendingOf(ctx, riversql.OldestPendingOfParams{Kind: kind, Most: countCap + 1})
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	at = at.UTC()
	return &at, err
}

// open adds one kind's jobs in one of River's states. waits are those of its available jobs that count as retryable.
func (c *overviewCounts) open(row riversql.CountOpenRow, waits int64) {
	of := c.Kinds[row.Kind]
	if row.State == stateAvailable {
		waits = min(waits, row.N)
		c.state(jobs.Retryable, &of.Retryable, jobs.Count{N: waits, About: waits > countCap})
		c.state(jobs.Pending, &of.Pending, jobs.Count{N: row.N - waits, About: row.N > countCap})
	} else {
		to := map[jobs.State]*jobs.Count{
			jobs.Pending: &of.Pending, jobs.Running: &of.Running, jobs.Retryable: &of.Retryable, jobs.Discarded: &of.Discarded,
		}
		state := shownState(row.State, false)
		c.state(state, to[state], counted(row.N))
	}
	c.Kinds[row.Kind] = of
}

func (c *overviewCounts) state(state jobs.State, of *jobs.Count, n jobs.Count) {
	total := c.States[state]
	c.add(&total, n)
	c.States[state] = total
	c.add(of, n)
}

// finished counts completed and cancelled jobs up to the cap, and estimates beyond it.
func (c *overviewCounts) finished(ctx context.Context, queries *riversql.Queries) error {
	rows, err := queries.CountFinished(ctx, riversql.CountFinishedParams{Most: countCap + 1})
	if err != nil {
		return err
	}
	capped := false
	for _, row := range rows {
		count := counted(row.N)
		capped = capped || count.About
		c.States[shownState(row.State, false)] = count
	}
	if !capped {
		return nil
	}
	estimates, err := queries.EstimateFinished(ctx)
	if err != nil {
		return err
	}
	for _, row := range estimates {
		state := shownState(row.State, false)
		if count := c.States[state]; count.About && row.N > count.N {
			c.States[state] = jobs.Count{N: row.N, About: true}
		}
	}
	return nil
}

// finishedOf looks at the kind's newest jobs; where there are more than those, their shares of the planner's estimate
// count for all.
func (c *overviewCounts) finishedOf(ctx context.Context, queries *riversql.Queries, kind string) error {
	sample, err := queries.SampleKind(ctx, riversql.SampleKindParams{Kind: kind, Most: sampleSize})
	if err != nil {
		return err
	}
	total := int64(0)
	for _, row := range sample {
		total += row.N
	}
	all := total
	if total == sampleSize {
		estimate, err := queries.EstimateKind(ctx, riversql.EstimateKindParams{Kind: kind})
		if err != nil {
			return err
		}
		all = max(estimate, total)
	}
	for _, row := range sample {
		if state := shownState(row.State, false); state == jobs.Completed || state == jobs.Cancelled {
			c.States[state] = jobs.Count{N: row.N * all / total, About: total == sampleSize}
		}
	}
	return nil
}
