package building

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/postbus/postbus/examples/notebook/note"
	"github.com/postbus/postbus/pg"
)

const (
	maxWaiters = 64
	// MaxWait is how long a Wait may last.
	MaxWait = time.Minute
	// lookEvery is what a lost notification costs at most.
	lookEvery  = time.Second
	buildsMost = 100
)

// Waiter waits for builds of one owner or another.
type Waiter struct {
	Notes    *note.Store
	Listener *pg.Listener

	waiting atomic.Int32
}

// Wait answers the owner's builds behind the given one, and where there are none waits for one to settle, at most the given time. It
// looks first and again once it would be told, so that nothing falls in between.
func (w *Waiter) Wait(ctx context.Context, owner string, after int64, wait time.Duration) ([]note.Build, error) {
	builds, err := w.Notes.BuildsAfter(ctx, owner, after, buildsMost)
	if len(builds) > 0 || err != nil || wait <= 0 {
		return builds, err
	}
	if w.waiting.Add(1) > maxWaiters {
		w.waiting.Add(-1)
		return nil, nil
	}
	defer w.waiting.Add(-1)
	sub := w.Listener.Subscribe(note.BuildsChannel)
	defer sub.Close()
	end, stop := context.WithTimeout(ctx, min(wait, MaxWait))
	defer stop()
	for {
		builds, err := w.Notes.BuildsAfter(ctx, owner, after, buildsMost)
		if len(builds) > 0 || err != nil || !told(end, sub, owner) {
			return builds, err
		}
	}
}

// told waits until there may be something new, and answers false once the time is over.
func told(ctx context.Context, sub *pg.Subscription, owner string) bool {
	look := time.NewTimer(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-look.C:
			return true
		case n, open := <-sub.C():
			if !open {
				return false
			}
			if n.Resync || n.Payload == owner {
				return true
			}
		}
	}
}
