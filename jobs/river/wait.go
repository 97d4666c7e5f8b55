package river

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

const (
	settledChannel = "postbus_settled"
	// A lost notification costs a poll: soon at first, at leisure later. Where LISTEN is not to be had, polls are all.
	firstPoll = 250 * time.Millisecond
	lastPoll  = time.Second
	// The first look is taken whatever the time to wait, and gets this much of it at least.
	firstLook = 5 * time.Second
)

// waiters are the Waits of this process, on one subscription for all.
type waiters struct {
	queries *riversql.Queries
	hub     *pg.Listener // nil: none
	log     *slog.Logger

	mu      sync.Mutex
	stop    func() // ends the subscription; nil while nobody waits
	waiting map[string]map[chan struct{}]struct{}
}

func newWaiters(queries *riversql.Queries, hub *pg.Listener, log *slog.Logger) *waiters {
	return &waiters{queries: queries, hub: hub, log: log, waiting: map[string]map[chan struct{}]struct{}{}}
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
	for poll := firstPoll; ; poll = min(2*poll, lastPoll) {
		latest, err := w.look(ctx, id)
		if err == nil || ctx.Err() == nil {
			state = latest // "" where the database does not answer
		}
		if state.Final() || errors.Is(err, jobs.ErrNotFound) || ctx.Err() != nil {
			return state, state.Final()
		}
		sleep(ctx, told, poll)
	}
}

// sleep waits for d, a notification or the end of ctx.
func sleep(ctx context.Context, told <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-told:
	case <-timer.C:
	case <-ctx.Done():
	}
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
	if w.stop == nil && w.hub != nil {
		w.stop = follow(w.hub, settledChannel, w.log, w.hear)
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

// close ends the subscription.
func (w *waiters) close() {
	w.mu.Lock()
	stop := w.stop
	w.stop = nil
	w.mu.Unlock()
	if stop != nil {
		stop()
	}
}
