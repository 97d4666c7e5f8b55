package bulk

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// Promise: any number of jobs is retried as one resumable job, whose progress can be read while it runs.
func TestRetryOf100000JobsShowsItsProgress(t *testing.T) {
	t.Parallel()
	const all = 100_000
	d := newDesk(t)
	d.seed("work", all)
	d.exec(`analyze postbus.river_job`)
	d.run()
	began := time.Now()
	act := d.start(Spec{Verb: Retry, Filter: jobs.Filter{Kinds: []string{"work"}}, Who: "ann"})
	want(t, "what matched at first", act.Matched, jobs.Count{N: 10_000, About: true})
	var between []float64
	wait.Eventually(t, 3*time.Minute, func() (bool, string) {
		act = d.now(act.ID)
		last := append([]float64{0}, between...)[len(between)]
		if act.Progress < last {
			t.Errorf("progress went back from %v to %v", last, act.Progress)
		}
		if act.State == Running && act.Progress > last {
			between = append(between, act.Progress)
		}
		return !act.Open(), "the act is " + string(act.State)
	})
	if len(between) < 3 {
		t.Errorf("the progress was seen at %v in between, want several", between)
	}
	want(t, "the state", act.State, Done)
	want(t, "what matched", act.Matched, jobs.Count{N: all})
	want(t, "what it changed", act.Changed, all)
	want(t, "the progress", act.Progress, 1)
	want(t, "who", act.Who, "ann")
	want(t, "jobs that wait again", d.one(`select count(*) from postbus.river_job where kind = 'work' and state = 'available'`), all)
	if act.StartedAt == nil || act.FinishedAt == nil {
		t.Errorf("it says that it began at %v and ended at %v", act.StartedAt, act.FinishedAt)
	}
	state, _ := d.runtime.Wait(t.Context(), act.JobID, time.Minute)
	want(t, "the job's state", state, jobs.Completed)
	t.Logf("%d jobs in %s, seen at %d places in between", all, time.Since(began).Round(time.Millisecond), len(between))
}

// Promise: a job that the act has retried and that fails again is not retried again by it; nor are jobs made since.
func TestFailsAgainIsNotRetriedAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.seed("work", 2500)
	d.watch()
	act := d.start(Spec{Verb: Retry})
	d.exec(`insert into postbus.river_job (state, max_attempts, finalized_at, args, kind) select 'discarded', 1, now(), '{}', 'late' from generate_series(1, 500)`)
	for range 3 {
		_, err := d.step(t.Context(), act.ID)
		if err != nil {
			t.Fatal(err)
		}
		d.exec(`update postbus.river_job set state = 'discarded', attempt = attempt + 1, finalized_at = now() where kind = 'work' and state = 'available'`)
	}
	act = d.now(act.ID)
	want(t, "the state", act.State, Done)
	want(t, "what it changed", act.Changed, 2500)
	d.once(2500)
	want(t, "jobs made since that were touched", d.one(`select count(*) from postbus.river_job where kind = 'late' and state <> 'discarded'`), 0)
}

// Promise: an act that is stopped in the middle changes nothing more; what it had changed stays.
func TestStopInTheMiddle(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.seed("work", 3500)
	d.watch()
	act := d.start(Spec{Verb: Retry})
	d.do(act.ID, 2, false)
	mid := d.now(act.ID)
	want(t, "the state in the middle", mid.State, Running)
	want(t, "the progress in the middle", mid.Progress, 2000.0/3500)
	want(t, "the state when stopped", d.stop(act.ID).State, Cancelled)
	if err := d.handled(act.ID); err != nil {
		t.Errorf("the job of a stopped act: %v", err)
	}
	want(t, "the state when stopped again", d.stop(act.ID).State, Cancelled)
	want(t, "what it changed", d.now(act.ID).Changed, 2000)
	d.once(2000)
}

// Promise: an act begins if and only if the transaction that started it commits.
func TestStartKeepsToItsTransaction(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.seed("work", 10)
	_ = pg.InTx(t.Context(), d.pool, func(ctx context.Context, tx pgx.Tx) error {
		_, err := d.Start(ctx, tx, Spec{Verb: Retry})
		if err != nil {
			t.Error(err)
		}
		return context.Canceled
	})
	want(t, "acts", d.one(`select count(*) from postbus.bulk_acts`), 0)
	want(t, "jobs of acts", d.one(`select count(*) from postbus.river_job where kind = $1`, Kind), 0)
}

// Promise: an act touches the jobs of its filter and no others, never its own.
func TestFilterIsKept(t *testing.T) {
	t.Parallel()
	hour := time.Now().Add(-time.Hour)
	for name, c := range map[string]struct {
		spec Spec
		n    int64
		ours string // which of the jobs the act is to change
	}{
		"owner":        {Spec{Verb: Retry, Filter: jobs.Filter{Owner: "even"}}, 20, `metadata ->> 'owner' = 'even'`},
		"kind":         {Spec{Verb: Retry, Filter: jobs.Filter{Kinds: []string{"a"}}}, 20, `kind = 'a'`},
		"queue":        {Spec{Verb: Retry, Filter: jobs.Filter{Queues: []string{"b"}}}, 20, `queue = 'b'`},
		"args":         {Spec{Verb: Retry, Filter: jobs.Filter{Args: json.RawMessage(`{"n": 7}`)}}, 2, `args ->> 'n' = '7'`},
		"state":        {Spec{Verb: Retry, Filter: jobs.Filter{States: []jobs.State{jobs.Retryable, jobs.Running}}}, 0, `false`},
		"before":       {Spec{Verb: Retry, Filter: jobs.Filter{Before: hour.Add(-time.Minute)}}, 0, `false`},
		"after":        {Spec{Verb: Cancel, Filter: jobs.Filter{After: hour.Add(time.Minute)}}, 5, `kind = 'c'`},
		"pending ones": {Spec{Verb: Cancel, Filter: jobs.Filter{States: []jobs.State{jobs.Pending}}}, 5, `kind = 'c'`},
		"all":          {Spec{Verb: Cancel}, 45, `true`},
		"failures":     {Spec{Verb: Acknowledge, Filter: jobs.Filter{Owner: "odd", Kinds: []string{"a"}}}, 10, `metadata ->> 'owner' = 'odd' and kind = 'a'`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.seed("a", 20)
			d.seed("b", 20)
			d.exec(`insert into postbus.river_job (args, kind, max_attempts) select '{}', 'c', 1 from generate_series(1, 5)`)
			d.exec(`create table before as select id, state, metadata from postbus.river_job`)
			act := d.start(c.spec)
			want(t, "what matched", act.Matched.N, c.n)
			d.finish(act.ID)
			act = d.now(act.ID)
			want(t, "the state", act.State, Done)
			want(t, "what it changed", act.Changed, c.n)
			changed := `from postbus.river_job j join before b using (id) where (j.state, j.metadata) is distinct from (b.state, b.metadata)`
			want(t, "jobs that changed", d.one(`select count(*) `+changed), c.n)
			want(t, "jobs of others that changed", d.one(`select count(*) `+changed+` and not (select `+c.ours+` from postbus.river_job o where o.id = j.id)`), 0)
			job, err := d.runtime.Inspector().Get(t.Context(), act.JobID)
			if err != nil || job.State != jobs.Pending || job.Owner != "" {
				t.Errorf("the act's own job is %s of owner %q, %v", job.State, job.Owner, err)
			}
		})
	}
}

func TestSpecsAreChecked(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, spec := range []Spec{
		{}, {Verb: "remove"}, {Verb: Retry, Filter: jobs.Filter{States: []jobs.State{"odd"}}},
		{Verb: Retry, Filter: jobs.Filter{States: []jobs.State{jobs.Running}}},
		{Verb: Acknowledge, Filter: jobs.Filter{States: []jobs.State{jobs.Completed}}},
		{Verb: Cancel, Filter: jobs.Filter{Args: json.RawMessage(`[]`)}},
	} {
		err := pg.InTx(t.Context(), d.pool, func(ctx context.Context, tx pgx.Tx) error {
			_, err := d.Start(ctx, tx, spec)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), jobs.ErrInvalid.Error()) {
			t.Errorf("%+v: %v, want ErrInvalid", spec, err)
		}
	}
}
