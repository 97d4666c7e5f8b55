package work

import (
	"context"
	"sync"
	"time"

	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/pg"
)

const (
	// channel carries the kind that has new work. It is part of the documented contract.
	channel = "postbus_work"
	// maxWaiters is how many claims may wait in one process.
	maxWaiters = 64
	// lookEvery is what a lost notification, a lease that ends or a job that falls due costs a claim at most.
	lookEvery = time.Second
)

// waiters wakes the claims that wait for a kind.
type waiters struct {
	listener *pg.Listener
	runner   loop.Runner

	mu      sync.Mutex
	count   int
	waiting map[string]map[chan struct{}]struct{} // by kind
}

func newWaiters(listener *pg.Listener) *waiters {
	return &waiters{listener: listener, waiting: map[string]map[chan struct{}]struct{}{}}
}

func (w *waiters) start(ctx context.Context) {
	if w.listener != nil {
		w.runner.Start(ctx, w.run)
	}
}

func (w *waiters) stop() { w.runner.Stop() }

func (w *waiters) run(ctx context.Context) {
	sub := w.listener.Subscribe(channel)
	defer sub.Close()
	for {
		select {
		case <-ctx.Done():
			return
		case n, open := <-sub.C():
			if !open {
				return
			}
			w.dispatch(n)
		}
	}
}

func (w *waiters) dispatch(n pg.Notification) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for kind, claims := range w.waiting {
		if n.Resync || kind == n.Payload {
			for told := range claims {
				wake(told)
			}
		}
	}
}

func wake(told chan struct{}) {
	select {
	case told <- struct{}{}:
	default:
	}
}

// join answers a channel that is told of work of the kinds, and how to leave. The channel is nil where as many wait as may.
func (w *waiters) join(kinds []string) (told chan struct{}, leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count >= maxWaiters {
		return nil, func() {}
	}
	w.count++
	told = make(chan struct{}, 1)
	for _, kind := range kinds {
		if w.waiting[kind] == nil {
			w.waiting[kind] = map[chan struct{}]struct{}{}
		}
		w.waiting[kind][told] = struct{}{}
	}
	return told, func() { w.leave(kinds, told) }
}

func (w *waiters) leave(kinds []string, told chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count--
	for _, kind := range kinds {
		delete(w.waiting[kind], told)
		if len(w.waiting[kind]) == 0 {
			delete(w.waiting, kind)
		}
	}
}
