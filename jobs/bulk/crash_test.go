package bulk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
)

// childEnv makes this test binary do acts on the given database until it is killed.
const childEnv = "POSTBUS_BULK_CHILD"

// child does acts, and works on the jobs that they retry: each fails for good again at once.
func child(url string) {
	pool, err := pgxpool.New(context.Background(), url)
	if err == nil {
		var d *desk
		hopeless := func(context.Context, json.RawMessage) error { return jobs.Discard(errors.New("again")) }
		if d, err = compose(pool, jobs.Kind{Name: "work", Queue: "work", Handle: hopeless}); err == nil {
			err = errors.Join(d.self.Start(context.Background()), d.runtime.Start(context.Background()))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {} // until SIGKILL
}

// Promise: a process that is killed at any moment loses and repeats nothing: the next goes on, and in the end every job was
// retried exactly once, though those that were retried fail again meanwhile.
func TestKilledInTheMiddleGoesOn(t *testing.T) {
	t.Parallel()
	const all = 20_000
	url := testdb.URL(t)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	d := deskOn(t, pool) // starts and reads; never runs
	d.seed("work", all)
	d.watch()
	act := d.start(Spec{Verb: Retry, Filter: jobs.Filter{Kinds: []string{"work"}}})

	d.killAfter(url, act.ID, 1)
	d.killBetween(url, act.ID)
	d.killAfter(url, act.ID, all/2)
	mid := d.now(act.ID)
	if mid.State != Running || mid.Changed == all {
		t.Fatalf("the kills came too late: the act is %s and has changed %d", mid.State, mid.Changed)
	}
	cmd := d.spawn(url)
	defer kill(cmd)
	wait.Eventually(t, 2*time.Minute, func() (bool, string) {
		act = d.now(act.ID)
		return !act.Open(), fmt.Sprintf("the act is %s and has changed %d", act.State, act.Changed)
	})
	want(t, "the state", act.State, Done)
	want(t, "what it changed", act.Changed, all)
	d.once(all)
	again := d.one(`select count(*) from postbus.river_job where kind = 'work' and attempt > 1`)
	if again == 0 {
		t.Error("no job ran again: that failing again does not count was not tried")
	}
	t.Logf("killed 3 times, last at %d of %d; %d jobs had run again by the end", mid.Changed, all, again)
}

// killAfter lets a process work until the act has come by n more than that many jobs, and kills it.
func (d *desk) killAfter(url, id string, n int64) {
	d.Helper()
	cmd := d.spawn(url)
	defer kill(cmd)
	from := d.now(id).Seen
	wait.Eventually(d, time.Minute, func() (bool, string) {
		seen := d.now(id).Seen
		return seen >= n && seen > from, fmt.Sprintf("the act has come by %d jobs, want %d and more than %d", seen, n, from)
	})
}

// killBetween kills a process when a chunk has acted and is about to note it: a lock lets the one through, and not the other.
func (d *desk) killBetween(url, id string) {
	d.Helper()
	ctx := context.Background()
	tx, err := d.pool.Begin(ctx)
	if err != nil {
		d.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if _, err := tx.Exec(ctx, `lock table postbus.bulk_acts in share mode`); err != nil {
		d.Fatal(err)
	}
	cmd := d.spawn(url)
	defer kill(cmd)
	wait.Eventually(d, time.Minute, func() (bool, string) {
		return d.one(`select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()
			and query like '%update postbus.bulk_acts%seen = seen +%'`) > 0, "nobody waits to note a chunk"
	})
}

func (d *desk) spawn(url string) *exec.Cmd {
	d.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+url)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		d.Fatal(err)
	}
	return cmd
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // SIGKILL
	_ = cmd.Wait()
}
