package events

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
)

const (
	// loadMost is how many events one query loads.
	loadMost = 100
	// loadTimeout bounds it: it is made for several handlers, and the end of one of them must not end it.
	loadTimeout = 10 * time.Second
)

// loader loads the events of jobs that begin at the same time with one query. Nobody waits for company: the first asks at once, and
// those who come while it asks are asked for together by one of them.
type loader struct {
	pool *pgxpool.Pool

	mu      sync.Mutex
	asking  bool
	waiting []*loading
}

// loading is one caller's wish. It is told the answer, or that it is its turn to ask.
type loading struct {
	id   string
	told chan loaded // holds one
}

type loaded struct {
	row  eventsql.PostbusEvent
	err  error
	turn bool
}

// get answers the event, ErrNotFound where there is none.
func (l *loader) get(ctx context.Context, id string) (Event, error) {
	if !isUUID(id) {
		return Event{}, noEvent(id)
	}
	me := &loading{id: strings.ToLower(id), told: make(chan loaded, 1)}
	l.mu.Lock()
	l.waiting = append(l.waiting, me)
	first := !l.asking
	l.asking = true
	l.mu.Unlock()
	if first {
		l.ask(ctx)
	}
	for {
		select {
		case answer := <-me.told:
			if answer.turn {
				l.ask(ctx)
				continue
			}
			return eventOf(answer.row), answer.err
		case <-ctx.Done():
			l.leave(me)
			return Event{}, ctx.Err()
		}
	}
}

// ask loads for those who wait, and hands the turn to one who came meanwhile.
func (l *loader) ask(ctx context.Context) {
	l.mu.Lock()
	batch := l.waiting[:min(len(l.waiting), loadMost)]
	l.waiting = l.waiting[len(batch):]
	l.mu.Unlock()
	l.answer(ctx, batch)
	l.next()
}

// next gives the turn to the longest waiting, who still waits to be asked for.
func (l *loader) next() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.asking, l.waiting = false, nil
		return
	}
	l.waiting[0].told <- loaded{turn: true}
}

// answer loads the batch's events and tells each who asked.
func (l *loader) answer(ctx context.Context, batch []*loading) {
	if len(batch) == 0 {
		return
	}
	ids := make([]string, len(batch))
	for i, w := range batch {
		ids[i] = w.id
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
	defer cancel()
	rows, err := queries(l.pool).EventsByID(ctx, eventsql.EventsByIDParams{Ids: ids})
	byID := make(map[string]eventsql.PostbusEvent, len(rows))
	for _, row := range rows {
		byID[row.ID] = row
	}
	for _, w := range batch {
		row, ok := byID[w.id]
		answer := loaded{row: row}
		switch {
		case err != nil:
			answer.err = fmt.Errorf("read event %s: %w", w.id, err)
		case !ok:
			answer.err = fmt.Errorf("event %s: %w", w.id, ErrNotFound)
		}
		w.told <- answer
	}
}

// leave takes back a wish. Where it had been given the turn, another gets it.
func (l *loader) leave(me *loading) {
	l.mu.Lock()
	for i, w := range l.waiting {
		if w == me {
			l.waiting = append(l.waiting[:i:i], l.waiting[i+1:]...)
			break
		}
	}
	l.mu.Unlock()
	select {
	case answer := <-me.told:
		if answer.turn {
			l.next()
		}
	default:
	}
}
