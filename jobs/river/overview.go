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
	// countCap is how far a count of what a filter selects is exact where nothing else is asked for.
	countCap = 10_000
	// overviewCap is how far the counts of an overview are exact, for each state, kind and queue. Beyond it they say that they
	// are about, and are the planner's where it has any.
	overviewCap = 500
	// sampleSize is how many jobs of a kind are looked at for what no index says.
	sampleSize = 50
)

func counted(n int64) jobs.Count { return jobs.Count{N: n, About: n > overviewCap} }

// overviewCounts gathers an Overview.
type overviewCounts struct{ jobs.Overview }

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
	var groups []riversql.JobGroupsRow
	if kind != "" {
		var err error
		if groups, err = findGroups(ctx, i.planned(), allStates(), []string{kind}); err != nil {
			return jobs.Overview{}, err
		}
	}
	for _, step := range []struct {
		what string
		do   func(context.Context, *riversql.Queries, string, []riversql.JobGroupsRow) error
	}{
		{"count jobs", counts.count}, {"find the job that waits longest", counts.oldest},
		{"count discarded jobs", counts.unacked}, {"estimate jobs", counts.estimate},
	} {
		if err := step.do(ctx, i.planned(), kind, groups); err != nil {
			return jobs.Overview{}, fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return counts.Overview, nil
}

// count counts the jobs of every group up to the cap, and where no kind is named finished jobs by state.
func (c *overviewCounts) count(ctx context.Context, queries *riversql.Queries, kind string, groups []riversql.JobGroupsRow) error {
	rows, err := groupCounts(ctx, queries, kind, groups)
	if err != nil {
		return err
	}
	waiting, err := queries.CountWaiting(ctx, riversql.CountWaitingParams{Most: overviewCap + 1})
	if err != nil {
		return err
	}
	waits := map[string]int64{}
	for _, row := range waiting {
		waits[row.Kind] += row.N
	}
	for _, row := range rows {
		n := min(waits[row.Kind], row.N)
		if row.State == stateAvailable {
			waits[row.Kind] -= n // of the kind's other queues
		}
		c.add(row, n)
	}
	if kind != "" {
		return nil
	}
	finished, err := queries.CountFinished(ctx, riversql.CountFinishedParams{Most: overviewCap + 1})
	for _, row := range finished {
		c.States[shownState(row.State, false)] = counted(row.N)
	}
	return err
}

func groupCounts(ctx context.Context, queries *riversql.Queries, kind string, groups []riversql.JobGroupsRow) ([]riversql.CountOpenRow, error) {
	if kind == "" {
		return queries.CountOpen(ctx, riversql.CountOpenParams{Most: overviewCap + 1})
	}
	params := riversql.CountGroupsParams{States: []string{}, Kinds: []string{}, Queues: []string{}, Most: overviewCap + 1}
	for _, g := range groups {
		params.States, params.Kinds, params.Queues = append(params.States, g.State), append(params.Kinds, g.Kind), append(params.Queues, g.Queue)
	}
	rows, err := queries.CountGroups(ctx, params)
	out := make([]riversql.CountOpenRow, len(rows))
	for i, row := range rows {
		out[i] = riversql.CountOpenRow(row)
	}
	return out, err
}

func (c *overviewCounts) oldest(ctx context.Context, queries *riversql.Queries, kind string, groups []riversql.JobGroupsRow) error {
	var at time.Time
	var err error
	if kind == "" {
		at, err = queries.OldestPending(ctx)
	} else {
		at, err = queries.OldestPendingOf(ctx, riversql.OldestPendingOfParams{
			Kind: kind, Queues: queuesIn(groups, stateAvailable), Most: sampleSize,
		})
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	at = at.UTC()
	c.OldestPending = &at
	return err
}

func (c *overviewCounts) unacked(ctx context.Context, queries *riversql.Queries, kind string, groups []riversql.JobGroupsRow) error {
	if kind == "" {
		n, err := queries.CountUnacked(ctx, riversql.CountUnackedParams{Most: overviewCap + 1})
		c.Unacked = counted(n)
		return err
	}
	queues := queuesIn(groups, string(jobs.Discarded))
	n, err := queries.CountUnackedOf(ctx, riversql.CountUnackedOfParams{Kind: kind, Queues: queues, Most: sampleSize})
	discarded := c.States[jobs.Discarded]
	looked := int64(sampleSize * len(queues))
	if c.Unacked.N = n; discarded.N > looked { // their share of the newest counts for all
		c.Unacked = jobs.Count{N: n * discarded.N / looked, About: true}
	}
	return err
}

func queuesIn(groups []riversql.JobGroupsRow, state string) []string {
	queues := []string{}
	for _, g := range groups {
		if g.State == state {
			queues = append(queues, g.Queue)
		}
	}
	return queues
}

// add adds the jobs of a group. waits are those of its available jobs that count as retryable.
func (c *overviewCounts) add(row riversql.CountOpenRow, waits int64) {
	of := c.Kinds[row.Kind]
	to := map[jobs.State]*jobs.Count{
		jobs.Pending: &of.Pending, jobs.Running: &of.Running, jobs.Retryable: &of.Retryable, jobs.Discarded: &of.Discarded,
	}
	state := shownState(row.State, false)
	if row.State == stateAvailable {
		c.state(jobs.Retryable, to[jobs.Retryable], counted(waits))
		c.state(jobs.Pending, to[jobs.Pending], jobs.Count{N: row.N - waits, About: row.N > overviewCap})
	} else {
		c.state(state, to[state], counted(row.N))
	}
	if to[state] != nil {
		c.Kinds[row.Kind] = of
	}
}

// state adds to the state's count and to the kind's, which is nil for finished states.
func (c *overviewCounts) state(state jobs.State, of *jobs.Count, n jobs.Count) {
	total := c.States[state]
	total.N, total.About = total.N+n.N, total.About || n.About
	c.States[state] = total
	if of != nil {
		of.N, of.About = of.N+n.N, of.About || n.About
	}
}

// estimate puts the planner's numbers in the place of those that stopped at the cap.
func (c *overviewCounts) estimate(ctx context.Context, queries *riversql.Queries, kind string, _ []riversql.JobGroupsRow) error {
	exact, capped := int64(0), []jobs.State{}
	for state, count := range c.States {
		if count.About {
			capped = append(capped, state)
		} else {
			exact += count.N
		}
	}
	if len(capped) == 0 {
		return nil
	}
	rows, err := queries.EstimateStates(ctx)
	if err != nil {
		return err
	}
	of, all := map[jobs.State]int64{}, int64(0)
	for _, row := range rows {
		of[shownState(row.State, false)] += row.N
	}
	if kind != "" {
		n, err := queries.EstimateKind(ctx, riversql.EstimateKindParams{Kind: kind})
		if err != nil {
			return err
		}
		for _, state := range capped {
			all += of[state]
		}
		for _, state := range capped { // what is left of the kind, in the shares of all kinds
			of[state] = int64(float64(max(n-exact, 0)) * float64(of[state]) / float64(max(all, 1)))
		}
	}
	for _, state := range capped {
		c.States[state] = jobs.Count{N: max(c.States[state].N, of[state]), About: true}
	}
	return nil
}
