package river

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/riversql"
	"github.com/postbus/postbus/internal/loop"
)

const (
	// A transaction commits some time after its statements: these looks follow an insert whose notification was saved.
	lateLook = 50 * time.Millisecond
	// wakeGrain is how close two wakes of a queue may be before one serves both.
	wakeGrain = 5 * time.Millisecond
	// maxWakes bounds what is remembered; beyond it polling finds the jobs.
	maxWakes = 10_000
)

// waker tells the producers of a queue that there is something to fetch: at once, within a process's rate of
// notifications, or when a job falls due. What it does is a hint: a poll finds every job.
type waker struct {
	local    *ear // of this process's producers; nil where it works on no queue
	queries  *riversql.Queries
	pollOnly bool
	cooldown time.Duration
	ticker   loop.Ticker

	mu       sync.Mutex
	on       bool
	notified map[string]time.Time
	planned  map[wake]struct{}
	wakes    wakeHeap
	hurry    context.CancelFunc // ends the sleep until the earliest wake; nil while there is none
}

// wake is a moment at which a queue has something to fetch, in grains.
type wake struct {
	queue string
	grain int64
}

func newWaker(queries *riversql.Queries, cfg Config, local *ear) *waker {
	w := &waker{
		local: local, queries: queries, pollOnly: cfg.PollOnly, cooldown: cfg.FetchCooldown,
		notified: map[string]time.Time{}, planned: map[wake]struct{}{},
	}
	w.ticker = loop.Ticker{Name: "waker", Once: w.once, Log: cfg.Log, BackoffBase: 100 * time.Millisecond, BackoffMax: 5 * time.Second}
	return w
}

// allow splits the queues into those that this process may notify and those that it notified within the cooldown: a NOTIFY
// in every transaction would make commits queue behind one lock of the server.
func (w *waker) allow(queues []string) (allowed, denied []string) {
	allowed = make([]string, 0, len(queues))
	if w.pollOnly {
		return allowed, queues
	}
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, queue := range queues {
		if now.Sub(w.notified[queue]) < w.cooldown {
			denied = append(denied, queue)
			continue
		}
		w.notified[queue] = now
		allowed = append(allowed, queue)
	}
	return allowed, denied
}

// soon plans the looks that follow an insert whose notification was saved, and which may commit a little later.
func (w *waker) soon(queues []string) {
	now := time.Now()
	for _, queue := range queues {
		w.at(queue, now.Add(w.cooldown))
		w.at(queue, now.Add(lateLook))
	}
}

// start begins to wake; before it, and after stop, plans are not kept.
func (w *waker) start(ctx context.Context) {
	w.mu.Lock()
	w.on = true
	w.mu.Unlock()
	w.ticker.Start(ctx)
}

func (w *waker) stop() {
	w.ticker.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.on, w.wakes = false, nil
	clear(w.planned)
}

// at plans a look at the queue.
func (w *waker) at(queue string, when time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := wake{queue: queue, grain: when.UnixNano()/int64(wakeGrain) + 1}
	if _, ok := w.planned[next]; ok || !w.on || len(w.wakes) >= maxWakes {
		return
	}
	w.planned[next] = struct{}{}
	heap.Push(&w.wakes, next)
	if w.wakes[0] != next {
		return
	}
	if w.hurry != nil {
		w.hurry()
	}
	w.ticker.Wake()
}

func (w *waker) once(ctx context.Context) error {
	sleep, wait, ok := w.plan(ctx)
	if !ok {
		return nil // at wakes the loop
	}
	_ = loop.Sleep(sleep, wait)
	queues := w.due()
	defer w.ticker.Wake()
	return w.tell(ctx, queues)
}

// plan answers how long to sleep, and a context that ends when an earlier wake is planned.
func (w *waker) plan(ctx context.Context) (context.Context, time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hurry != nil {
		w.hurry()
		w.hurry = nil
	}
	if len(w.wakes) == 0 {
		return ctx, 0, false
	}
	ctx, w.hurry = context.WithCancel(ctx)
	return ctx, time.Until(w.wakes[0].when()), true
}

// due takes the queues whose time has come.
func (w *waker) due() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	var queues []string
	seen := map[string]bool{}
	for len(w.wakes) > 0 && !w.wakes[0].when().After(now) {
		next := heap.Pop(&w.wakes).(wake)
		delete(w.planned, next)
		if !seen[next.queue] {
			seen[next.queue] = true
			queues = append(queues, next.queue)
		}
	}
	return queues
}

// tell wakes this process's producers directly and, for queues that it does not work on, others' by notification.
func (w *waker) tell(ctx context.Context, queues []string) error {
	var others []string
	for _, queue := range queues {
		if w.local == nil || !w.local.insert(queue) {
			others = append(others, queue)
		}
	}
	allowed, _ := w.allow(others)
	if len(allowed) == 0 {
		return nil
	}
	return w.queries.WakeQueues(ctx, riversql.WakeQueuesParams{Queues: allowed})
}

func (w wake) when() time.Time { return time.Unix(0, w.grain*int64(wakeGrain)) }

// wakeHeap has the earliest wake first.
type wakeHeap []wake

func (h wakeHeap) Len() int           { return len(h) }
func (h wakeHeap) Less(i, j int) bool { return h[i].grain < h[j].grain }
func (h wakeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *wakeHeap) Push(x any)        { *h = append(*h, x.(wake)) }
func (h *wakeHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
