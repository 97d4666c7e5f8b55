package postbus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
)

// What docs/saturation.md says of what is full or down, where no other test shows it.

// smallPool is a pool of its own on the test's database.
func smallPool(t *testing.T, maxConns int32) *pgxpool.Pool {
	t.Helper()
	cfg := testdb.New(t).Config()
	cfg.MaxConns = maxConns
	pool, err := newPool(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

// holdAll takes every connection of a pool as it comes free, and answers how to give them back.
func holdAll(t *testing.T, pool *pgxpool.Pool) (release func()) {
	t.Helper()
	var held []*pgxpool.Conn
	for range pool.Config().MaxConns {
		conn, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
	}
	release = sync.OnceFunc(func() {
		for _, conn := range held {
			conn.Release()
		}
	})
	t.Cleanup(release)
	return release
}

// soon receives what must come.
func soon[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(within):
		t.Fatal("nothing came")
	}
	return v
}

// Promise: a handler that gets no connection fails at its Timeout, and its job waits as retryable until there is one.
func TestExhaustedPoolMakesJobsRetryable(t *testing.T) {
	t.Parallel()
	pool := smallPool(t, 8)
	begun, full, failed := make(chan bool, 2), make(chan struct{}), make(chan error, 2)
	bus := startBus(t, pool, postbus.Config{Kinds: []jobs.Kind{{
		Name: "query", Timeout: 2 * time.Second, Backoff: jobs.Steps(time.Hour),
		Handle: func(ctx context.Context, _ jobsArgs) error {
			begun <- true
			<-full
			_, err := pool.Exec(ctx, `select 1`)
			failed <- err
			return err
		},
	}}})
	id, err := bus.Jobs().Enqueue(t.Context(), "query", struct{}{}, jobs.EnqueueOpts{})
	if err != nil {
		t.Fatal(err)
	}
	soon(t, begun)
	release := holdAll(t, pool)
	close(full)
	if err := soon(t, failed); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a connection the handler ended with %v", err)
	}
	release()
	job := inState(t, bus, id, jobs.Retryable)
	if job.Attempt != 1 || len(job.Errors) != 1 || !strings.Contains(job.Errors[0].Error, "deadline exceeded") {
		t.Errorf("retryable after attempt %d: %+v", job.Attempt, job.Errors)
	}
	if _, err := bus.Inspector().Retry(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	inState(t, bus, id, jobs.Completed)
}

func inState(t *testing.T, bus *postbus.Bus, id jobs.JobID, want jobs.State) (job jobs.Job) {
	t.Helper()
	wait.Eventually(t, within, func() (bool, string) {
		var err error
		if job, err = bus.Inspector().Get(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		return job.State == want, fmt.Sprintf("job %s is %s, want %s", id, job.State, want)
	})
	return job
}

// Promise: however many jobs wait whose handlers hold a connection, half of the pool is left to the application's requests.
func TestWorkersLeaveRequestsHalfOfThePool(t *testing.T) {
	t.Parallel()
	pool := smallPool(t, 8)
	ended := make(chan struct{})
	var busy atomic.Int32
	var kinds []jobs.Kind
	for _, name := range []string{"one", "two"} {
		kinds = append(kinds, jobs.Kind{Name: name, Queue: name, HoldsConn: true, Handle: func(ctx context.Context, _ jobsArgs) error {
			conn, err := pool.Acquire(ctx)
			if err != nil {
				return err
			}
			defer conn.Release()
			busy.Add(1)
			select {
			case <-ended:
			case <-ctx.Done():
			}
			return ctx.Err()
		}})
	}
	bus := startBus(t, pool, postbus.Config{Kinds: kinds})
	defer close(ended)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	for i := range 20 {
		if _, err := bus.Jobs().Enqueue(ctx, kinds[i%2].Name, map[string]int{"n": i}, jobs.EnqueueOpts{}); err != nil {
			t.Fatal(err)
		}
	}
	wait.Eventually(t, within, func() (bool, string) { return busy.Load() >= 2, "the workers are not busy" })

	const reserve = 4
	var all, together sync.WaitGroup
	together.Add(reserve)
	for n := range reserve {
		all.Go(func() {
			tx, err := pool.Begin(ctx)
			together.Done()
			if err != nil {
				t.Errorf("request %d: %v", n, err)
				return
			}
			together.Wait() // all have theirs at once
			if err = bus.Recorder().With(tx).Record(ctx, "owner", noteChanged.Name, fmt.Sprint(n), nil); err == nil {
				err = tx.Commit(ctx)
			}
			if err != nil {
				t.Errorf("request %d: %v", n, err)
			}
		})
	}
	all.Wait()
}

// Promise: a handler that exceeds its Timeout is cancelled, its job waits as retryable and says why, and its worker takes the next job.
func TestSlowHandlerIsCancelledAndFreesItsWorker(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	bus := startBus(t, testdb.New(t), postbus.Config{
		Queues: map[string]int{"narrow": 1},
		Kinds: []jobs.Kind{
			{Name: "slow", Queue: "narrow", Timeout: 300 * time.Millisecond, Backoff: jobs.Steps(time.Hour), Handle: func(ctx context.Context, _ jobsArgs) error {
				<-ctx.Done()
				ended <- ctx.Err()
				return ctx.Err()
			}},
			{Name: "next", Queue: "narrow", Handle: func(context.Context, jobsArgs) error { return nil }},
		},
	})
	slow, err := bus.Jobs().Enqueue(t.Context(), "slow", struct{}{}, jobs.EnqueueOpts{})
	if err != nil {
		t.Fatal(err)
	}
	next, err := bus.Jobs().Enqueue(t.Context(), "next", struct{}{}, jobs.EnqueueOpts{})
	if err != nil {
		t.Fatal(err)
	}
	if err := soon(t, ended); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the handler's context ended with %v", err)
	}
	job := inState(t, bus, slow, jobs.Retryable)
	if job.Attempt != 1 || len(job.Errors) != 1 || !strings.Contains(job.Errors[0].Error, "timed out after 300ms") {
		t.Errorf("retryable after attempt %d: %+v", job.Attempt, job.Errors)
	}
	inState(t, bus, next, jobs.Completed)
}

// Promise: while what a subscriber needs is down its jobs wait as retryable; when it is back all of them complete, and none was discarded.
func TestBacklogDrainsWhenTheSubscriberIsBack(t *testing.T) {
	t.Parallel()
	const n = 300
	pool := testdb.New(t)
	var down atomic.Bool
	down.Store(true)
	var handled sync.Map
	index := to("index", func(_ context.Context, e events.Event) error {
		if down.Load() {
			return errors.New("the index is down")
		}
		handled.Store(e.Subject, true)
		return nil
	})
	index.Queue, index.MaxAttempts, index.Backoff = "index", 100, jobs.Steps(50*time.Millisecond, 100*time.Millisecond, 300*time.Millisecond)
	bus := startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{index, to("audit", ignore)}})
	recordAll(t, pool, bus.Recorder(), n, numbered("note-"))
	eventually(t, within, pool, int64(n), `select count(*) from postbus.river_job where kind = 'audit' and state = 'completed'`) // not held up
	eventually(t, within, pool, true, `select min(attempt) >= 2 from postbus.river_job where kind = 'index'`)
	overview, err := bus.Inspector().Overview(t.Context(), "index")
	if err != nil {
		t.Fatal(err)
	}
	if overview.States[jobs.Completed].N+overview.States[jobs.Discarded].N > 0 {
		t.Errorf("while the index is down: %+v", overview.States)
	}
	down.Store(false)
	eventually(t, within, pool, int64(n), `select count(*) from postbus.river_job where kind = 'index' and state = 'completed'`)
	for i := range n {
		if _, ok := handled.Load(fmt.Sprint("note-", i)); !ok {
			t.Fatalf("note-%d was not indexed", i)
		}
	}
	if discarded := one[int64](t, pool, `select count(*) from postbus.river_job where state = 'discarded'`); discarded != 0 {
		t.Errorf("%d jobs were discarded", discarded)
	}
	requireAlert(t, bus, events.AlertDiscarded, false)
}

// Promise: a surge beyond what the relays keep up with raises the backlog's alert once, and it is cleared once the surge is fanned out, by one
// job an event.
func TestSurgeRaisesTheAlertAndClearsIt(t *testing.T) {
	t.Parallel()
	const n = 1500
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{to("index", ignore)}})
	hold, err := pool.Begin(t.Context()) // passes wait for it: the relay is behind
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hold.Rollback(context.Background()) }()
	if _, err := hold.Exec(t.Context(), `lock table postbus.subscriptions in access exclusive mode`); err != nil {
		t.Fatal(err)
	}
	recordAll(t, pool, bus.Recorder(), n, numbered("note-"))
	look(t, bus, bus)
	requireTold(t, pool, map[string]int{"raised events_backlog": 1})
	if err := hold.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, within, pool, int64(0), unfannedSQL)
	look(t, bus)
	nextLook(t, pool)
	look(t, bus)
	requireTold(t, pool, map[string]int{"raised events_backlog": 1, "cleared events_backlog": 1})
	if made := one[int64](t, pool, `select count(*) from postbus.river_job where kind = 'index'`); made != n {
		t.Errorf("%d jobs for %d events", made, n)
	}
}
