package measure

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
)

// all reports one of everything.
func all(m *Measures) {
	now := time.Now()
	m.Passed(Pass{
		Claimed: 3, Fanned: 2, Jobs: 4, Took: 30 * time.Millisecond,
		Recorded: []time.Time{now, now.Add(-time.Hour), now.Add(time.Hour)}, Lags: []time.Duration{time.Second, 3 * time.Second},
	})
	for outcome := range jobOutcomes {
		m.JobEnded("index", outcome, time.Second, 10*time.Millisecond)
	}
	m.JobEnded("mail", Completed, Unknown, Unknown)
	m.DeliveryEnded(Delivered, 40*time.Millisecond)
	m.DeliveryEnded(Failed, time.Second)
	m.DeliveryEnded(GivenUp, Unknown)
	m.DeliveriesGivenUp(5)
}

// times is what all reports, done some times.
func times(n int64) map[string]int64 {
	return map[string]int64{
		"events.recorded ": 3 * n, "events.fanned ": 2 * n, "relay.passes ": n,
		"jobs.completed ": 2 * n, "jobs.completed index": n, "jobs.completed mail": n, "jobs.retried ": n, "jobs.retried index": n,
		"jobs.snoozed ": n, "jobs.snoozed index": n, "jobs.discarded ": n, "jobs.discarded index": n,
		"jobs.cancelled ": n, "jobs.cancelled index": n, "jobs.wait ": 5 * n,
		"deliveries.delivered ": n, "deliveries.failed ": n, "deliveries.discarded ": 6 * n,
	}
}

// Reports of many goroutines of two processes add up in the table, however often each flushes.
func TestProcessesAddUp(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	processes := []*Measures{process(t, pool, Config{}), process(t, pool, Config{})}
	var work sync.WaitGroup
	for _, m := range processes {
		for range 4 {
			work.Go(func() {
				for range 25 {
					all(m)
					if err := m.flush(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	work.Wait()
	if diff := cmp.Diff(times(200), totals(t, pool)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a failed flush could not write is written by the next, once.
func TestFailedFlushIsNotLost(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	m := process(t, pool, Config{})
	all(m)
	exec(t, pool, `alter table postbus.stats rename to away`)
	if err := m.flush(t.Context()); err == nil {
		t.Fatal("a flush without a table succeeded")
	}
	all(m)
	if err := m.flush(t.Context()); err == nil {
		t.Fatal("a flush without a table succeeded")
	}
	exec(t, pool, `alter table postbus.away rename to stats`)
	if err := m.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(times(2), totals(t, pool)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err := Read(t.Context(), pool, Query{Series: "jobs.wait", Since: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour), Step: 1440})
	if err != nil || len(got) == 0 || got[0].Latencies.Count() != 10 || got[0].Latencies.SumMS != 10_000 {
		t.Errorf("latencies %+v, %v", got, err)
	}
}

// The loop flushes; Stop flushes the rest, also where its ctx is over, and after it nothing is left.
func TestStopFlushes(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	m := process(t, pool, Config{FlushEvery: time.Hour})
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	all(m)
	m.ticker.Wake()
	wait.Eventually(t, 10*time.Second, func() (bool, string) {
		got := totals(t, pool)
		return cmp.Equal(times(1), got), fmt.Sprint(got)
	})
	all(m)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.Stop(ctx)
	m.Stop(ctx)
	if diff := cmp.Diff(times(2), totals(t, pool)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Memory is bounded while the database takes nothing, and so are the kinds that are told apart.
func TestBounds(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	m := process(t, pool, Config{})
	for i := range 3 * maxKinds {
		m.JobEnded(fmt.Sprintf("kind-%d", i), Completed, Unknown, time.Second)
	}
	old := time.Now().Add(-29 * 24 * time.Hour)
	for i := range 2 * maxCells {
		m.Passed(Pass{Claimed: 1, Recorded: []time.Time{old.Add(time.Duration(i) * time.Minute)}})
	}
	m.Passed(Pass{Claimed: 1, Recorded: []time.Time{time.Now().Add(-keep)}}) // the table would not keep it
	if n := len(m.cells.held); n != maxCells {
		t.Errorf("%d counts wait, want %d", n, maxCells)
	}
	lost := m.cells.lost
	wait.Eventually(t, time.Minute, func() (bool, string) { // a flush is bounded in time; what it does not write it keeps
		err := m.flush(t.Context())
		return err == nil, fmt.Sprint(err)
	})
	got := totals(t, pool)
	if got["jobs.completed "] != 3*maxKinds || got["jobs.completed (other)"] != 2*maxKinds || got["jobs.completed kind-7"] != 1 {
		t.Errorf("jobs %v", got)
	}
	if got["events.recorded "]+lost != 2*maxCells || lost == 0 {
		t.Errorf("%d recorded and %d lost of %d", got["events.recorded "], lost, 2*maxCells)
	}
}

// Minutes older than 30 days go, those of every series and label, however many; younger ones stay.
func TestPrune(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	columns, zeros := "", ""
	for i := range bucketCount {
		columns, zeros = fmt.Sprintf("%s, b%02d", columns, i), zeros+", 0"
	}
	exec(t, pool, `insert into postbus.stats (series, label, minute, n, sum_ms`+columns+`)
		select s, l, date_trunc('minute', now()) - make_interval(days => 30, mins => m), 1, 0`+zeros+`
		from unnest(array['a', 'b']) s, unnest(array['', 'x']) l, generate_series(-10, 2500) m`)
	m := process(t, pool, Config{})
	if err := m.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := totals(t, pool)
	for _, pair := range []string{"a ", "a x", "b ", "b x"} {
		if n := got[pair]; n < 9 || n > 11 {
			t.Errorf("%q has %d minutes left, want the 10 that are young enough", pair, n)
		}
	}
}

// A nil Measures takes every report.
func TestNil(t *testing.T) {
	t.Parallel()
	var m *Measures
	all(m)
	if err := m.Start(t.Context()); err != nil {
		t.Error(err)
	}
	m.Stop(t.Context())
}

// The label that stands for other kinds is none that a job can have.
func TestOtherIsNoKind(t *testing.T) {
	t.Parallel()
	if !strings.ContainsAny(otherKinds, "()") {
		t.Error("it might be a kind: names of kinds are words with dots, dashes and underscores")
	}
}
