package postbus_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/pg"
)

// Promise: while the database is away business writes fail with an error that says so, the bus waits, and what was recorded
// is handled within 30 s of its return, jobs that were in flight included. The process never exits.
func TestDatabaseRestartedUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	server := testdb.Server(t)
	cfg, err := pgxpool.ParseConfig(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "on" // a confirmed commit must survive the immediate stop
	pool, err := newPool(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	h := &handledSet{}
	bus := startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{to("index", h.handle)}})

	w := writers{pool: pool, rec: bus.Recorder()}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for i := range 4 {
		w.running.Go(func() { w.write(ctx, i) })
	}
	wait.Eventually(t, 20*time.Second, func() (bool, string) { return h.count() > 200, "no load yet" })
	if err := server.HaltImmediate(); err != nil {
		t.Fatal(err)
	}
	wait.Eventually(t, 10*time.Second, func() (bool, string) { return w.failures() > 10, "writes do not fail" })
	if err := server.StartAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	returned := time.Now()
	before := h.count()
	wait.Eventually(t, 30*time.Second, func() (bool, string) { return h.count() > before+100, "nothing is handled after the return" })
	stop()
	w.running.Wait()
	wait.Eventually(t, 30*time.Second-time.Since(returned), func() (bool, string) {
		missing := h.missing(w.known())
		return len(missing) == 0, fmt.Sprintf("%d committed events are not handled", len(missing))
	})
	eventually(t, 30*time.Second, pool, int64(0), `select count(*) from postbus.river_job where kind = 'index' and state <> 'completed'`)
	for _, text := range w.errors() {
		if strings.TrimSpace(text) == "" || strings.Contains(text, "panic") {
			t.Errorf("a write failed with %q", text)
		}
	}
	t.Logf("%d events committed, %d writes failed, all handled %s after the return", len(w.known()), w.failures(), time.Since(returned).Round(time.Millisecond))
}

// handledSet remembers the subjects that were handled.
type handledSet struct {
	seen sync.Map
	n    atomic.Int64
}

func (h *handledSet) handle(_ context.Context, e events.Event) error {
	if _, again := h.seen.LoadOrStore(e.Subject, true); !again {
		h.n.Add(1)
	}
	return nil
}

func (h *handledSet) count() int64 { return h.n.Load() }

func (h *handledSet) missing(subjects []string) (missing []string) {
	for _, s := range subjects {
		if _, ok := h.seen.Load(s); !ok {
			missing = append(missing, s)
		}
	}
	return missing
}

// writers record events until they are stopped, and remember which commits were confirmed.
type writers struct {
	pool    *pgxpool.Pool
	rec     events.Recorder
	running sync.WaitGroup
	mu      sync.Mutex
	done    []string
	failed  []string
}

func (w *writers) write(ctx context.Context, worker int) {
	for n := 0; ctx.Err() == nil; n++ {
		subject := fmt.Sprintf("note-%d-%d", worker, n)
		err := pg.InTx(ctx, w.pool, func(ctx context.Context, tx pgx.Tx) error {
			return w.rec.With(tx).Record(ctx, "owner", noteChanged.Name, subject, nil)
		})
		w.mu.Lock()
		if err == nil {
			w.done = append(w.done, subject)
		} else {
			w.failed = append(w.failed, err.Error())
		}
		w.mu.Unlock()
		_ = loop.Sleep(ctx, 2*time.Millisecond)
	}
}

func (w *writers) known() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.done...)
}

func (w *writers) errors() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.failed...)
}

func (w *writers) failures() int { return len(w.errors()) }
