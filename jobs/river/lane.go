package river

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/postbus/postbus/internal/loop"
)

// lane gathers outcomes and writes them in groups: at once where the last group is long past, else when the gap has
// passed or the group is full.
type lane struct {
	name   string
	gap    time.Duration
	most   int
	write  func(ctx context.Context, batch []outcome) error
	ticker loop.Ticker

	mu      sync.Mutex
	pending []outcome
	last    time.Time
	hurry   context.CancelFunc // ends the wait for the gap; nil while there is none
}

func newLane(name string, gap time.Duration, most int, write func(context.Context, []outcome) error, log *slog.Logger) *lane {
	l := &lane{name: name, gap: gap, most: most, write: write}
	l.ticker = loop.Ticker{
		Name: name, Once: l.once, Log: log, BackoffBase: 100 * time.Millisecond, BackoffMax: 2 * time.Second,
	}
	return l
}

func (l *lane) add(o outcome) {
	l.mu.Lock()
	l.pending = append(l.pending, o)
	if len(l.pending) >= l.most && l.hurry != nil {
		l.hurry()
	}
	l.mu.Unlock()
	l.ticker.Wake()
}

// once writes one group.
func (l *lane) once(ctx context.Context) error {
	l.rest(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	batch := l.take()
	if len(batch) == 0 {
		return nil
	}
	if err := l.write(ctx, batch); err != nil {
		l.putBack(batch)
		return err
	}
	l.ticker.Wake() // there may be more
	return nil
}

// rest waits for the gap, or until a group is full.
func (l *lane) rest(ctx context.Context) {
	l.mu.Lock()
	wait := l.gap - time.Since(l.last)
	if len(l.pending) == 0 || len(l.pending) >= l.most || wait <= 0 {
		l.mu.Unlock()
		return
	}
	ctx, l.hurry = context.WithCancel(ctx)
	l.mu.Unlock()

	_ = loop.Sleep(ctx, wait)

	l.mu.Lock()
	defer l.mu.Unlock()
	l.hurry()
	l.hurry = nil
}

func (l *lane) take() []outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.pending), l.most)
	if n == 0 {
		return nil
	}
	batch := l.pending[:n:n]
	l.pending = l.pending[n:]
	l.last = time.Now()
	return batch
}

func (l *lane) putBack(batch []outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(batch, l.pending...)
}

// drain stops the loop and writes all that is left, trying again until ctx ends.
func (l *lane) drain(ctx context.Context) error {
	l.ticker.Stop()
	backoff := loop.Backoff{Base: 50 * time.Millisecond, Max: time.Second}
	for {
		batch := l.take()
		if len(batch) == 0 {
			return nil
		}
		err := l.write(ctx, batch)
		if err == nil {
			backoff.Reset()
			continue
		}
		l.putBack(batch)
		if loop.Sleep(ctx, backoff.Next()) != nil {
			return fmt.Errorf("%d %s are not recorded; their jobs will be given back: %w", len(l.pending), l.name, err)
		}
	}
}
