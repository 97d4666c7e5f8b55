package jobstest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/jobs"
)

func uniqueCases() []Case {
	cases := []Case{
		{Name: "canonical-args", run: uniqueCanonicalArgs,
			Sentence: "Args are compared as canonical JSON: key order and white space do not matter."},
		{Name: "other-args", run: uniqueOtherArgs,
			Sentence: "UniqueByArgs makes one job of this kind with these args: other args, another kind, and jobs that do not ask for it are not duplicates."},
		{Name: "while-unfinished", run: uniqueWhileUnfinished,
			Sentence: "While a job is pending, running or retryable, a second one answers with its id."},
		{Name: "completed", run: uniqueCompleted,
			Sentence: "A completed job stands in the way of a second one until it is pruned."},
		{Name: "discarded-frees", run: uniqueDiscardedFrees,
			Sentence: "A discarded or cancelled job does not stand in the way of a new one."},
		{Name: "in-one-batch", run: uniqueInOneBatch,
			Sentence: "Duplicates within one EnqueueMany answer with one id, which is the one that stands, and spoil nothing else."},
		{Name: "race", run: uniqueRace,
			Sentence: "However many make a unique job at once, one is made and all get its id."},
		{Name: "rolled-back-frees", run: uniqueRolledBack,
			Sentence: "A unique job that was rolled back does not stand in the way."},
		{Name: "retry-makes-no-second", run: uniqueRetryMakesNoSecond,
			Sentence: "Retry of a discarded unique job never makes a second one beside its successor, and spoils no bulk retry."},
	}
	for n := range cases {
		cases[n].Topic, cases[n].Needs = "unique", UniqueByArgs
	}
	return cases
}

var once = jobs.EnqueueOpts{UniqueByArgs: true}

func uniqueCanonicalArgs(e *env) {
	i := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("plain")}})
	id := e.enqueue(i, "plain", json.RawMessage(`{"a":{"x":[1,{"k":"v","l":null}],"y":"\u00e9"},"b":2}`), once)
	for _, same := range []any{
		json.RawMessage(`{"b": 2, "a": {"y": "é", "x": [1, {"l": null, "k": "v"}]}}`),
		map[string]any{"b": 2, "a": map[string]any{"x": []any{1, map[string]any{"k": "v", "l": nil}}, "y": "é"}},
	} {
		if got := e.enqueue(i, "plain", same, once); got != id {
			e.Errorf("%s made a second job", same)
		}
	}
	e.count(i, "plain", 1)
}

// count fails the case where there are not n jobs of the kind.
func (e *env) count(i *instance, kind string, n int) {
	e.Helper()
	if got := len(e.list(i, jobs.Filter{Kinds: []string{kind}, Limit: 200}).Jobs); got != n {
		e.Errorf("there are %d jobs of kind %s, want %d", got, kind, n)
	}
}

func uniqueOtherArgs(e *env) {
	p := e.probe(nil)
	i := e.create(Spec{Kinds: []jobs.Kind{p.kind("plain"), p.kind("other")}})
	different := []string{
		`{}`, `{"n":1}`, `{"n":"1"}`, `{"n":[1]}`, `{"n":null}`, `{"N":1}`, `{"n":[1,2]}`, `{"n":[2,1]}`,
		`{"n":9007199254740992}`, `{"n":9007199254740993}`, `{"n":1,"m":2}`, `{"n":{"m":2}}`,
	}
	seen := map[jobs.JobID]string{}
	for _, args := range different {
		id := e.enqueue(i, "plain", json.RawMessage(args), once)
		if earlier, taken := seen[id]; taken {
			e.Errorf("%s answered with the job of %s", args, earlier)
		}
		seen[id] = args
	}
	for _, id := range []jobs.JobID{
		e.enqueue(i, "other", number(1), once), e.enqueue(i, "plain", number(1)), e.enqueue(i, "plain", number(1)),
	} {
		if earlier, taken := seen[id]; taken {
			e.Errorf("a job that is no duplicate answered with the job of %s", earlier)
		}
		seen[id] = "no duplicate"
	}
	e.count(i, "plain", len(different)+2)
	e.count(i, "other", 1)
}

func uniqueWhileUnfinished(e *env) {
	hold := e.gate()
	p := e.probe(func(ctx context.Context, _ run) error {
		_ = hold.pass(ctx)
		return errBoom
	})
	kind := p.kind("held")
	kind.Backoff = func(int) time.Duration { return time.Hour }
	i := e.create(Spec{Kinds: []jobs.Kind{kind}})
	id := e.enqueue(i, "held", number(1), once)
	again := func(state jobs.State) {
		if got := e.enqueue(i, "held", number(1), once); got != id {
			e.Errorf("while the job is %s, a duplicate answered %s, want %s", state, got, id)
		}
	}
	again(jobs.Pending)
	e.begin(i)
	p.next()
	again(jobs.Running)
	hold.release()
	e.reaches(i, id, jobs.Retryable)
	again(jobs.Retryable)
	e.count(i, "held", 1)
	p.ran(1)
}

func uniqueCompleted(e *env) {
	p := e.probe(nil)
	i := e.startKinds(p.kind("plain"), p.kind("after"))
	id := e.enqueue(i, "plain", number(1), once)
	e.ends(i, id, jobs.Completed)
	if got := e.enqueue(i, "plain", number(1), once); got != id {
		e.Errorf("a duplicate of a completed job answered %s, want %s", got, id)
	}
	e.ends(i, e.enqueue(i, "after", number(1)), jobs.Completed)
	p.ran(2)
}

func uniqueDiscardedFrees(e *env) {
	p := e.sequence(jobs.Discard(errBoom))
	i := e.startKinds(p.kind("plain"))
	discarded := e.enqueue(i, "plain", number(1), once)
	e.ends(i, discarded, jobs.Discarded)
	second := e.enqueue(i, "plain", number(1), once)
	if second == discarded {
		e.Fatalf("a new job answered with the id of one that was discarded")
	}
	e.ends(i, second, jobs.Completed)
	later := once
	later.RunAt = e.now().Add(time.Hour)
	cancelled := e.enqueue(i, "plain", number(2), later)
	e.cancel(i, cancelled)
	third := e.enqueue(i, "plain", number(2), once)
	if third == cancelled {
		e.Fatalf("a new job answered with the id of one that was cancelled")
	}
	e.ends(i, third, jobs.Completed)
}

func uniqueInOneBatch(e *env) {
	p := e.probe(nil)
	i := e.startKinds(p.kind("plain"))
	standing := e.enqueue(i, "plain", number(0), once)
	var batch []jobs.EnqueueParams
	for _, n := range []int{1, 0, 2, 1, 1, 0} {
		batch = append(batch, jobs.EnqueueParams{Kind: "plain", Args: number(n), Opts: once})
	}
	ids, err := i.EnqueueMany(e.ctx, batch)
	e.ok(err, "enqueue a batch with duplicates")
	if len(ids) != len(batch) {
		e.Fatalf("a batch of %d answered %d ids", len(batch), len(ids))
	}
	if ids[0] != ids[3] || ids[0] != ids[4] || ids[1] != standing || ids[5] != standing || ids[2] == ids[0] || ids[0] == standing {
		e.Errorf("a batch of args 1 0 2 1 1 0 answered %v, where 0 stands as %s", ids, standing)
	}
	e.endsAll(i, ids, jobs.Completed)
	p.ran(3)
}

func uniqueRace(e *env) {
	const racers = 8
	p := e.probe(nil)
	one, two := e.startKinds(p.kind("plain")), e.startKinds(p.kind("plain"))
	ids, errs := make([]jobs.JobID, racers), make([]error, racers)
	together(racers, func(n int) {
		to := []*instance{one, two}[n%2]
		if n < racers/2 {
			ids[n], errs[n] = to.Enqueue(e.ctx, "plain", number(1), once)
			return
		}
		made, err := to.EnqueueMany(e.ctx, []jobs.EnqueueParams{{Kind: "plain", Args: number(1), Opts: once}})
		errs[n] = err
		if len(made) == 1 {
			ids[n] = made[0]
		}
	})
	for n := range racers {
		e.ok(errs[n], "make a unique job in a race")
		if ids[n] == "" || ids[n] != ids[0] {
			e.Errorf("racer %d got id %q, racer 0 %q", n, ids[n], ids[0])
		}
	}
	e.ends(one, ids[0], jobs.Completed)
	e.count(one, "plain", 1)
	p.ran(1)
}

func uniqueRolledBack(e *env) {
	p := e.probe(nil)
	i := e.startKinds(p.kind("plain"))
	e.in(func(tx pgx.Tx) bool {
		e.enqueue(i.With(tx), "plain", number(1), once)
		return false
	})
	e.ends(i, e.enqueue(i, "plain", number(1), once), jobs.Completed)
	e.in(func(tx pgx.Tx) bool { // a duplicate spoils no transaction
		e.enqueue(i.With(tx), "plain", number(1), once)
		e.enqueue(i.With(tx), "plain", number(2), once)
		return true
	})
	e.count(i, "plain", 2)
}

func uniqueRetryMakesNoSecond(e *env) {
	fail := jobs.Discard(errBoom)
	p := e.sequence(fail, fail)
	i := e.startKinds(p.kind("plain"))
	discarded, lone := e.enqueue(i, "plain", number(1), once), e.enqueue(i, "plain", number(2), once)
	e.endsAll(i, []jobs.JobID{discarded, lone}, jobs.Discarded)
	successor := e.enqueue(i, "plain", number(1), once)
	e.ends(i, successor, jobs.Completed)
	if job, err := i.Inspector().Retry(e.ctx, discarded); err == nil && job.State != jobs.Discarded {
		e.Errorf("Retry beside a successor answered a job that is %s", job.State)
	}
	if _, err := i.Inspector().RetryMany(e.ctx, jobs.Filter{IDs: []jobs.JobID{discarded, lone}}); err != nil {
		e.Errorf("one job with a successor spoils a bulk retry: %v", err)
	}
	e.eventually(func() (bool, string) {
		return e.get(i, lone).State == jobs.Completed, fmt.Sprintf("the lone job is %s after a bulk retry", e.get(i, lone).State)
	})
	if state := e.get(i, discarded).State; state != jobs.Discarded {
		e.Errorf("beside a successor the discarded job is %s", state)
	}
	p.ran(4)
}
