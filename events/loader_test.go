package events

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
)

// countingTracer counts queries.
type countingTracer struct{ n atomic.Int64 }

func (c *countingTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}

func (*countingTracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// loaderOf answers a loader on a pool of two connections, with a count of its queries, and ids of n events.
func loaderOf(t *testing.T, n int) (*loader, *countingTracer, []string) {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(testdb.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	var counts countingTracer
	cfg.ConnConfig.Tracer, cfg.MaxConns = &counts, 2
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	rows, err := pool.Query(t.Context(), `with declared as (select postbus.declare_type('note.changed'))
		select postbus.record('o', 'note.changed', 'note-' || i, '{}') ::text from declared, generate_series(1, $1) as i`, n)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	counts.n.Store(0)
	return &loader{pool: pool}, &counts, ids
}

// Events that are asked for at the same time are loaded together, each caller gets its own, and one who gives up keeps nobody waiting.
func TestLoaderAsksForManyAtOnce(t *testing.T) {
	t.Parallel()
	const n = 500
	l, counts, ids := loaderOf(t, n)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var group sync.WaitGroup
	for i, id := range ids {
		group.Go(func() {
			if e, err := l.get(t.Context(), id); err != nil || e.ID != id || e.Subject != fmt.Sprint("note-", i+1) {
				t.Errorf("%s: %+v, %v", id, e, err)
			}
		})
		group.Go(func() {
			if _, err := l.get(gone, id); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", id, err)
			}
		})
		group.Go(func() {
			if _, err := l.get(t.Context(), fmt.Sprintf("00000000-0000-0000-0000-%012d", i)); !errors.Is(err, ErrNotFound) {
				t.Errorf("an event that is not there: %v", err)
			}
		})
	}
	group.Wait()
	if asked := counts.n.Load(); asked > n/2 {
		t.Errorf("%d queries for %d events", asked, n)
	}
	if l.asking || len(l.waiting) != 0 {
		t.Errorf("asking: %v, %d waiting", l.asking, len(l.waiting))
	}
}

// The end of the caller who asks does not end what it asks for others, and a query that hangs keeps no caller beyond its own time.
func TestLoaderOutlivesWhoAsks(t *testing.T) {
	t.Parallel()
	l, _, ids := loaderOf(t, 2)
	held := make([]*pgxpool.Conn, 2)
	for i := range held {
		c, err := l.pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held[i] = c
	}
	asker, cancel := context.WithCancel(t.Context())
	answers := make(chan error, 2)
	var group sync.WaitGroup
	group.Go(func() { _, err := l.get(asker, ids[0]); answers <- err })
	wait.Eventually(t, 10*time.Second, func() (bool, string) { return l.busy(), "nobody asks" })
	group.Go(func() { _, err := l.get(t.Context(), ids[1]); answers <- err })
	brief, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := l.get(brief, ids[1]); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a caller in a hurry: %v", err)
	}
	cancel()
	for _, c := range held {
		c.Release()
	}
	group.Wait()
	for range 2 {
		if err := <-answers; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

func (l *loader) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asking && len(l.waiting) == 0
}
