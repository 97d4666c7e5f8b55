package events

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

const (
	// fannedChannel carries the ids of fanned events, joined by commas.
	fannedChannel = "postbus_fanned"
	// maxWaiters is how many callers may wait for fan-outs in one process; one more is answered "not yet" at once.
	maxWaiters = 64
	// awaitPoll is what a lost notification costs a waiter at most.
	awaitPoll = 250 * time.Millisecond
)

// AwaitFanout waits until the event has its jobs, at most max, and answers which job each subscription got. The bool is
// false where that is not yet known: max has passed, or 64 callers wait already in this process. That is no failure: the
// event is recorded, and its jobs will come.
func (b *Bus) AwaitFanout(ctx context.Context, eventID string, max time.Duration) (map[string]jobs.JobID, bool, error) {
	if !isUUID(eventID) {
		return nil, false, noEvent(eventID)
	}
	return b.await.wait(ctx, strings.ToLower(eventID), max)
}

// awaiter hands the fanned notifications of one subscription to all who wait in this process.
type awaiter struct {
	pool     *pgxpool.Pool
	listener *pg.Listener
	runner   loop.Runner

	mu      sync.Mutex
	waiting map[string][]chan struct{}
	count   int
}

func newAwaiter(pool *pgxpool.Pool, cfg Config) *awaiter {
	return &awaiter{pool: pool, listener: cfg.Listener, waiting: map[string][]chan struct{}{}}
}

func (a *awaiter) start(ctx context.Context) {
	if a.listener != nil {
		a.runner.Start(ctx, a.run)
	}
}

func (a *awaiter) stop() { a.runner.Stop() }

func (a *awaiter) run(ctx context.Context) {
	sub := a.listener.Subscribe(fannedChannel)
	defer sub.Close()
	for {
		select {
		case <-ctx.Done():
			return
		case n, open := <-sub.C():
			if !open {
				return
			}
			a.dispatch(n)
		}
	}
}

func (a *awaiter) dispatch(n pg.Notification) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n.Resync {
		for _, waiters := range a.waiting {
			wakeAll(waiters)
		}
		return
	}
	for _, id := range strings.Split(n.Payload, ",") {
		wakeAll(a.waiting[id])
	}
}

func wakeAll(waiters []chan struct{}) {
	for _, w := range waiters {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// wait looks at the row first and again once it would be told, so that nothing falls between.
func (a *awaiter) wait(ctx context.Context, id string, max time.Duration) (map[string]jobs.JobID, bool, error) {
	fanout, done, err := a.read(ctx, id)
	if done || err != nil || max <= 0 {
		return fanout, done, err
	}
	told, ok := a.join(id)
	if !ok {
		return nil, false, nil
	}
	defer a.leave(id, told)
	ctx, cancel := context.WithTimeout(ctx, max)
	defer cancel()
	for {
		fanout, done, err = a.read(ctx, id)
		if done || (err != nil && ctx.Err() == nil) {
			return fanout, done, err
		}
		poll := time.NewTimer(awaitPoll)
		select {
		case <-ctx.Done():
			poll.Stop()
			return nil, false, nil
		case <-told:
		case <-poll.C:
		}
		poll.Stop()
	}
}

func (a *awaiter) read(ctx context.Context, id string) (map[string]jobs.JobID, bool, error) {
	row, err := queries(a.pool).FanoutOf(ctx, eventsql.FanoutOfParams{ID: id})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, false, fmt.Errorf("event %s: %w", id, ErrNotFound)
	}
	if err != nil {
		return nil, false, fmt.Errorf("read the fan-out of event %s: %w", id, err)
	}
	if row.FannedOutAt == nil {
		return nil, false, nil
	}
	fanout, err := decodeFanout(row.Fanout)
	return fanout, err == nil, err
}

func (a *awaiter) join(id string) (chan struct{}, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count >= maxWaiters {
		return nil, false
	}
	a.count++
	told := make(chan struct{}, 1)
	a.waiting[id] = append(a.waiting[id], told)
	return told, true
}

func (a *awaiter) leave(id string, told chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count--
	rest := a.waiting[id][:0]
	for _, w := range a.waiting[id] {
		if w != told {
			rest = append(rest, w)
		}
	}
	if len(rest) == 0 {
		delete(a.waiting, id)
		return
	}
	a.waiting[id] = rest
}
