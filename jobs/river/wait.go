package river

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

const (
	settledChannel = "postbus_settled"
	// A lost notification costs one poll, which looks for all that is waited for in one query. Kinds that are not marked
	// Receipt, and a process without LISTEN, have no other.
	pollEvery = 250 * time.Millisecond
	// Each Wait looks for itself this often, should nobody tell it: a Stop ends the poll.
	lookEvery = 5 * time.Second
	// The first look is taken whatever the time to wait, and gets this much of it at least.
	firstLook = 5 * time.Second
)

// waiters are the Waits of this process, on one subscription and one poll for all.
type waiters struct {
	queries *riversql.Queries
	hub     *pg.Listener // nil: none
	log     *slog.Logger
	poll    loop.Ticker

	mu      sync.Mutex
	closed  bool
	stop    func() // ends the subscription and the poll; nil while there is none
	waiting map[string]map[chan struct{}]struct{}
}

func newWaiters(queries *riversql.Queries, hub *pg.Listener, log *slog.Logger) *waiters {
	w := &waiters{queries: queries, hub: hub, log: log, waiting: map[string]map[chan struct{}]struct{}{}}
	w.poll = loop.Ticker{
		Name: "waits", Interval: pollEvery, Once: w.once, Log: log, BackoffBase: pollEvery, BackoffMax: time.Second,
	}
	return w
}

// wait is Runtime.Wait.
func (w *waiters) wait(ctx context.Context, id jobs.JobID, most time.Duration) (jobs.State, bool) {
	first, cancel := context.WithTimeout(ctx, max(most, firstLook))
	defer cancel()
	state, err := w.look(first, id)
	if state.Final() || most <= 0 || errors.Is(err, jobs.ErrNotFound) {
		return state, state.Final()
	}
	ctx, cancel = context.WithTimeout(ctx, most)
	defer cancel()
	told, leave := w.join(string(id))
	defer leave()
	for {
		latest, err := w.look(ctx, id)
		if err == nil || ctx.Err() == nil {
			state = latest // "" where the database does not answer
		}
		if state.Final() || errors.Is(err, jobs.ErrNotFound) || ctx.Err() != nil {
			return state, state.Final()
		}
		pause(ctx, told)
	}
}

// pause waits for the job's end to be told, for the time of another look or for the end of ctx.
func pause(ctx context.Context, told <-chan struct{}) {
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	select {
	case <-told:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// once tells those whose job has ended.
func (w *waiters) once(ctx context.Context) error {
	w.mu.Lock()
	ids := make([]int64, 0, len(w.waiting))
	for id := range w.waiting {
		if number, err := parseID(jobs.JobID(id)); err == nil {
			ids = append(ids, number)
		}
	}
	w.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	ended, err := w.queries.EndedJobs(ctx, riversql.EndedJobsParams{Ids: ids})
	if err != nil {
		return fmt.Errorf("look for the ends of %d jobs: %w", len(ids), err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ended {
		w.tell(string(jobID(id)))
	}
	return nil
}

// look answers the job's state, ErrNotFound where there is no such job, or why there is no answer.
func (w *waiters) look(ctx context.Context, id jobs.JobID) (jobs.State, error) {
	number, err := parseID(id)
	if err != nil {
		return "", err
	}
	row, err := w.queries.JobState(ctx, riversql.JobStateParams{ID: number})
	if errors.Is(err, pgx.ErrNoRows) {
		return "", jobs.ErrNotFound
	}
	if err != nil {
		return "", err
	}
	return shownState(row.State, row.Waits), nil
}

// join answers a channel that is told when the job is settled, and how to leave.
func (w *waiters) join(id string) (told chan struct{}, leave func()) {
	told = make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting[id] == nil {
		w.waiting[id] = map[chan struct{}]struct{}{}
	}
	w.waiting[id][told] = struct{}{}
	if w.stop == nil && !w.closed {
		w.stop = w.begin()
	}
	return told, func() { w.leave(id, told) }
}

func (w *waiters) leave(id string, told chan struct{}) {
	w.mu.Lock()
	delete(w.waiting[id], told)
	if len(w.waiting[id]) == 0 {
		delete(w.waiting, id)
	}
	w.mu.Unlock()
}

// hear passes a group's notification on. Where some may have been missed, everybody looks.
func (w *waiters) hear(n pg.Notification) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n.Resync {
		for id := range w.waiting {
			w.tell(id)
		}
		return
	}
	for id := range strings.SplitSeq(n.Payload, ",") {
		w.tell(id)
	}
}

func (w *waiters) tell(id string) {
	for told := range w.waiting[id] {
		select {
		case told <- struct{}{}:
		default:
		}
	}
}

// begin starts to follow and to poll.
func (w *waiters) begin() (stop func()) {
	unfollow := func() {}
	if w.hub != nil {
		unfollow = follow(w.hub, settledChannel, w.log, w.hear)
	}
	w.poll.Start(context.Background())
	return func() {
		unfollow()
		w.poll.Stop()
	}
}

// open lets Waits share a subscription and a poll again.
func (w *waiters) open() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = false
}

// close ends the subscription and the poll. Waits that go on look for themselves.
func (w *waiters) close() {
	w.mu.Lock()
	stop := w.stop
	w.closed, w.stop = true, nil
	w.mu.Unlock()
	if stop != nil {
		stop()
	}
}
