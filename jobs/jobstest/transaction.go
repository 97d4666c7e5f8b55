package jobstest

import (
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/jobs"
)

func transactionCases() []Case {
	return []Case{
		{Topic: "transaction", Name: "rollback-leaves-nothing", run: rollbackLeavesNothing,
			Sentence: "What Jobs.With makes does not exist if the transaction rolls back."},
		{Topic: "transaction", Name: "commit-makes-it", run: commitMakesIt,
			Sentence: "What Jobs.With makes exists if the transaction commits."},
		{Topic: "transaction", Name: "nothing-before-commit", run: nothingBeforeCommit,
			Sentence: "A job is neither seen nor run before its transaction commits."},
		{Topic: "transaction", Name: "refusal-keeps-the-transaction", run: refusalKeepsTheTransaction,
			Sentence: "A refused or duplicate enqueue leaves its transaction usable."},
		{Topic: "transaction", Name: "acts-commit-together", run: actsCommitTogether,
			Sentence: "What Inspector.With does happens if and only if the transaction commits."},
		{Topic: "transaction", Name: "reads-its-own-writes", run: readsItsOwnWrites,
			Sentence: "Inspector.With reads through the transaction."},
	}
}

func rollbackLeavesNothing(e *env) {
	p := e.probe(nil)
	i := e.startKinds(p.kind("made"), p.kind("after"))
	var ids []jobs.JobID
	e.in(func(tx pgx.Tx) bool {
		ids = append(e.enqueueN(i.With(tx), "made", 3, jobs.EnqueueOpts{}), e.enqueue(i.With(tx), "made", number(9)))
		return false
	})
	e.ends(i, e.enqueue(i, "after", number(0)), jobs.Completed)
	for _, id := range ids {
		if job, err := i.Inspector().Get(e.ctx, id); !errors.Is(err, jobs.ErrNotFound) {
			e.Errorf("a job survived the rollback: %s is %q, %v", id, job.State, err)
		}
	}
	e.noneOf(i, "made")
	p.ran(1)
}

func commitMakesIt(e *env) {
	p := e.probe(nil)
	i := e.startKinds(p.kind("made"))
	var ids []jobs.JobID
	e.in(func(tx pgx.Tx) bool {
		ids = append(e.enqueueN(i.With(tx), "made", 3, jobs.EnqueueOpts{}), e.enqueue(i.With(tx), "made", number(9)))
		return true
	})
	for _, id := range ids {
		if _, err := i.Inspector().Get(e.ctx, id); err != nil {
			e.Fatalf("a job is lost on commit: %v", err)
		}
	}
	e.endsAll(i, ids, jobs.Completed)
	p.ran(len(ids))
}

func nothingBeforeCommit(e *env) {
	p := e.probe(nil)
	i := e.startKinds(p.kind("plain"))
	var id jobs.JobID
	e.in(func(tx pgx.Tx) bool {
		id = e.enqueue(i.With(tx), "plain", number(1))
		e.endsAll(i, e.enqueueN(i, "plain", 3, jobs.EnqueueOpts{}), jobs.Completed)
		if _, err := i.Inspector().Get(e.ctx, id); !errors.Is(err, jobs.ErrNotFound) {
			e.Errorf("a job is seen before its commit: %v", err)
		}
		p.ran(3)
		return true
	})
	e.ends(i, id, jobs.Completed)
	p.ran(4)
}

func refusalKeepsTheTransaction(e *env) {
	p := e.probe(nil)
	i := e.startKinds(p.kind("plain"))
	var id jobs.JobID
	e.in(func(tx pgx.Tx) bool {
		in := i.With(tx)
		for kind, args := range map[string]any{"nobody": number(1), "plain": []int{1}} {
			if _, err := in.Enqueue(e.ctx, kind, args, jobs.EnqueueOpts{}); err == nil {
				e.Errorf("Enqueue of %s with %v was taken", kind, args)
			}
		}
		if _, err := i.Inspector().With(tx).Get(e.ctx, "404"); !errors.Is(err, jobs.ErrNotFound) {
			e.Errorf("Get of a job that is not there answered %v, want ErrNotFound", err)
		}
		id = e.enqueue(in, "plain", number(2))
		return true
	})
	e.ends(i, id, jobs.Completed)
}

func actsCommitTogether(e *env) {
	p := e.probe(nil)
	i := e.create(Spec{Kinds: []jobs.Kind{p.kind("plain")}})
	cancel, retry := e.enqueue(i, "plain", number(1)), e.enqueue(i, "plain", number(2))
	e.cancel(i, retry)
	act := func(commit bool) {
		e.in(func(tx pgx.Tx) bool {
			in := i.Inspector().With(tx)
			_, err := in.Cancel(e.ctx, cancel)
			e.ok(err, "cancel in a transaction")
			_, err = in.Retry(e.ctx, retry)
			e.ok(err, "retry in a transaction")
			return commit
		})
	}
	act(false)
	if c, r := e.get(i, cancel).State, e.get(i, retry).State; c != jobs.Pending || r != jobs.Cancelled {
		e.Errorf("after a rollback the jobs are %s and %s, want pending and cancelled", c, r)
	}
	act(true)
	if c, r := e.get(i, cancel).State, e.get(i, retry).State; c != jobs.Cancelled || r != jobs.Pending {
		e.Errorf("after a commit the jobs are %s and %s, want cancelled and pending", c, r)
	}
	e.begin(i)
	e.ends(i, retry, jobs.Completed)
	p.ran(1)
}

func readsItsOwnWrites(e *env) {
	i := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("plain")}})
	e.in(func(tx pgx.Tx) bool {
		id := e.enqueue(i.With(tx), "plain", number(1))
		in := i.Inspector().With(tx)
		job, err := in.Get(e.ctx, id)
		e.ok(err, "get a job in its own transaction")
		page, err := in.List(e.ctx, jobs.Filter{Kinds: []string{"plain"}})
		e.ok(err, "list in the transaction")
		if job.ID != id || len(page.Jobs) != 1 {
			e.Errorf("the transaction sees job %q and a list of %d, want %q and 1", job.ID, len(page.Jobs), id)
		}
		return true
	})
}

// together calls fn n times at once and waits for all of them.
func together(n int, fn func(n int)) {
	var all sync.WaitGroup
	for k := range n {
		all.Go(func() { fn(k) })
	}
	all.Wait()
}
