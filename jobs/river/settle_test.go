package river

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

func testLog(t testing.TB) *slog.Logger {
	return testdb.Logged(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// bench is a runtime that is not started, and a way to fetch as River does.
type bench struct {
	*Runtime
	t    *testing.T
	pool *pgxpool.Pool
}

func newBench(t *testing.T, kinds ...jobs.Kind) *bench {
	t.Helper()
	pool := testdb.New(t)
	if len(kinds) == 0 {
		kinds = []jobs.Kind{{Name: "k", Handle: func(context.Context, json.RawMessage) error { return nil }}}
	}
	r, err := New(pool, Config{Kinds: kinds, Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{Runtime: r, t: t, pool: pool}
}

// fetch makes n jobs and takes them as the given instance would; it answers what each run is called.
func (b *bench) fetch(instance string, n int) []outcome {
	b.t.Helper()
	batch := make([]jobs.EnqueueParams, n)
	for i := range batch {
		batch[i] = jobs.EnqueueParams{Kind: "k", Args: map[string]int{"n": i}}
	}
	if _, err := b.EnqueueMany(b.t.Context(), batch); err != nil {
		b.t.Fatal(err)
	}
	return b.take(instance)
}

// take takes all that is available.
func (b *bench) take(instance string) []outcome {
	b.t.Helper()
	rows, err := b.pool.Query(b.t.Context(), `update postbus.river_job set state = 'running', attempt = attempt + 1,
		attempted_at = clock_timestamp(), attempted_by = array_append(attempted_by, $1) where state = 'available'
		returning id, attempt, attempted_at`, instance)
	if err != nil {
		b.t.Fatal(err)
	}
	defer rows.Close()
	var taken []outcome
	for rows.Next() {
		var o outcome
		var at time.Time
		if err := rows.Scan(&o.id, &o.attempt, &at); err != nil {
			b.t.Fatal(err)
		}
		o.attempted, o.verdict = at.UnixMicro(), completed
		taken = append(taken, o)
	}
	return taken
}

func (b *bench) state(id int64) jobs.State {
	b.t.Helper()
	job, err := b.Inspector().Get(b.t.Context(), jobID(id))
	if err != nil {
		b.t.Fatal(err)
	}
	return job.State
}

// What an attempt comes to after its job was given to another does not end the attempt that runs now, though a snooze or
// a lost fetch gives both the same number.
func TestLateOutcomeNeverEndsALaterRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	zombie := b.fetch("a", 1)
	_, err := b.reaper.queries.TakeBackJobs(t.Context(), riversql.TakeBackJobsParams{
		Begun: false, Ids: []int64{zombie[0].id}, Attempts: []int32{1},
		AttemptedAts: []time.Time{time.UnixMicro(zombie[0].attempted)}, Errors: []string{""},
	})
	if err != nil {
		t.Fatal(err)
	}
	current := b.take("b")
	if current[0].attempt != zombie[0].attempt {
		t.Fatalf("the second run is attempt %d, want the same number as the first", current[0].attempt)
	}
	for _, verdict := range []string{completed, failed, discarded, snoozing, interrupted, cancelled} {
		zombie[0].verdict, zombie[0].err = verdict, "late"
		if err := b.settler.write(t.Context(), zombie); err != nil {
			t.Fatal(err)
		}
		if got := b.state(current[0].id); got != jobs.Running {
			t.Fatalf("a late %q made the job that runs %s", verdict, got)
		}
	}
	if err := b.settler.write(t.Context(), current); err != nil {
		t.Fatal(err)
	}
	if got := b.state(current[0].id); got != jobs.Completed {
		t.Errorf("the current run's outcome made the job %s", got)
	}
}

// An outcome that the database refuses costs only itself.
func TestRefusedOutcomeCostsOnlyItself(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	runs := b.fetch("a", 7)
	runs[3].verdict, runs[3].err = failed, "not \x00 storable" // add would have made it so
	if err := b.settler.write(t.Context(), runs); err != nil {
		t.Fatal(err)
	}
	for i, run := range runs {
		want := jobs.Completed
		if i == 3 {
			want = jobs.Pending // its wait was 0
		}
		if got := b.state(run.id); got != want {
			t.Errorf("run %d is %s, want %s", i, got, want)
		}
	}
}

// Receipts are told in few payloads of less than 8,000 bytes; ends for which nobody waits are not told at all.
func TestReceiptsAreToldInChunks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	listener := pg.NewListener(b.pool, pg.ListenerConfig{Log: testLog(t), Buffer: 10_000})
	if err := listener.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(listener.Stop)
	sub := listener.Subscribe(settledChannel)
	<-sub.C() // the Resync
	const n = 1000
	silent, told := b.fetch("a", n), b.fetch("a", n)
	for i := range told {
		told[i].receipt = true
	}
	for _, batch := range [][]outcome{silent, told} {
		if err := b.settler.write(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]bool{}
	for _, run := range told {
		want[fmt.Sprint(run.id)] = true
	}
	payloads := 0
	for len(want) > 0 {
		note := <-sub.C()
		payloads++
		for id := range strings.SplitSeq(note.Payload, ",") {
			if !want[id] {
				t.Fatalf("job %s was told twice, or though nobody waits", id)
			}
			delete(want, id)
		}
	}
	if payloads > 3 {
		t.Errorf("%d receipts took %d notifications, want 3", n, payloads)
	}
}

// A run that the database says is ours, and that we know nothing of, was fetched by a statement whose answer was lost.
// It goes back without spending an attempt; a run that we know of, and one that is fresh, stay.
func TestStrayRunsGoBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	runs := b.fetch(b.self.ID(), 3)
	stray, known, fresh := runs[0], runs[1], runs[2]
	b.flights.held[known.runKey] = &flight{runKey: known.runKey}
	for _, run := range []*outcome{&stray, &known} {
		var at time.Time
		err := b.pool.QueryRow(t.Context(), `update postbus.river_job set attempted_at = attempted_at - interval '6 seconds'
			where id = $1 returning attempted_at`, run.id).Scan(&at)
		if err != nil {
			t.Fatal(err)
		}
		delete(b.flights.held, run.runKey)
		run.attempted = at.UnixMicro()
	}
	b.flights.held[known.runKey] = &flight{runKey: known.runKey}
	if err := b.reaper.own(t.Context()); err != nil {
		t.Fatal(err)
	}
	for run, want := range map[int64]jobs.State{stray.id: jobs.Pending, known.id: jobs.Running, fresh.id: jobs.Running} {
		if got := b.state(run); got != want {
			t.Errorf("run %d is %s, want %s", run, got, want)
		}
	}
	if job, _ := b.Inspector().Get(t.Context(), jobID(stray.id)); job.Attempt != 0 || len(job.Errors) != 0 {
		t.Errorf("the stray run spent an attempt: %+v", job)
	}
}

// After an outage everybody's heartbeat is old: nobody is declared dead before the own beats have come through for as
// long as death takes.
func TestNobodyIsDeclaredDeadRightAfterAnOutage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	runs := b.fetch("of an instance without a row", 1)
	if err := b.self.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.self.Stop(context.Background()) })
	if err := b.reaper.lost(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.state(runs[0].id); got != jobs.Running {
		t.Errorf("the run is %s though this instance has only begun to beat", got)
	}
	b.reaper.deadAfter = time.Millisecond
	wait.Eventually(t, 10*time.Second, func() (bool, string) {
		if err := b.reaper.lost(t.Context()); err != nil {
			t.Fatal(err)
		}
		return b.state(runs[0].id) == jobs.Pending, "the run was not given back"
	})
}
