package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/seed"
	"github.com/postbus/postbus/internal/testdb"
)

const (
	// mostBuffers is how many pages of 8 KiB an operation may touch.
	mostBuffers = 500
	// mostGrowth is how many more it may touch on ten times the history, where it touches more than fewBuffers: below these a page
	// that looks at 200 rows may have found fewer in the smaller history, and an index may have one level more.
	mostGrowth, fewBuffers = 1.2, 320
	// endedScan is how much of a table a scan may read that a limit ends.
	endedScan = 50
)

// Every operation that reads touches few pages, hardly more on a million jobs and events than on a hundred thousand, and
// reads no big table as a whole. The walk is over the registry: an operation without inputs in package seed fails.
func TestReadsTouchFewPages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("fills a database with a million jobs and events")
	}
	listener := &statements{}
	pool := listener.pool(t, testdb.New(t))
	r, _ := fixtureOn(t, pool)
	var small, big map[string]cost
	for _, step := range []struct {
		from, to int
		costs    *map[string]cost
	}{{0, 100_000, &small}, {100_000, 1_000_000, &big}} {
		if err := seed.Fill(t.Context(), pool, step.from, step.to); err != nil {
			t.Fatal(err)
		}
		*step.costs = listener.measure(t, r)
	}
	for call, is := range big {
		was := small[call]
		most := max(mostGrowth*float64(was.buffers), fewBuffers)
		if os.Getenv("PLANS") != "" {
			t.Logf("%6d %6d  %s %v", was.buffers, is.buffers, call, is.scanned)
		}
		if is.buffers > mostBuffers || float64(is.buffers) > most || len(is.scanned) > 0 {
			t.Errorf("%s touches %d pages (at most %d) on a million jobs and events, %d on a tenth (ratio at most %.1f), and reads all of %v (want none); plans:\n%s",
				call, is.buffers, mostBuffers, was.buffers, mostGrowth, is.scanned, is.plans)
		}
	}
}

// cost is what one call takes.
type cost struct {
	buffers int
	scanned []string
	plans   string
}

// statement is one that an operation issued.
type statement struct {
	sql  string
	args []any
}

// statements notes what the operation under way issues.
type statements struct {
	mu   sync.Mutex
	seen []statement
}

// pool is a pool on the same database that it listens to.
func (s *statements) pool(t *testing.T, on *pgxpool.Pool) *pgxpool.Pool {
	t.Helper()
	config := on.Config()
	config.ConnConfig.Tracer = s
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if word, _, _ := strings.Cut(q.SQL, " "); slices.Contains([]string{"begin", "commit", "rollback"}, word) {
		return ctx
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	args := slices.DeleteFunc(slices.Clone(q.Args), func(arg any) bool { _, mode := arg.(pgx.QueryExecMode); return mode })
	s.seen = append(s.seen, statement{q.SQL, args})
	return ctx
}

func (*statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) take() []statement {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// measure makes every call and explains its statements, planned with their values as the operations have it.
func (s *statements) measure(t *testing.T, r *Registry) map[string]cost {
	t.Helper()
	calls, err := seed.Calls(t.Context(), r.deps.Pool, 1)
	if err != nil {
		t.Fatal(err)
	}
	costs := map[string]cost{}
	for _, o := range r.All() {
		if o.Writes() {
			continue
		}
		if len(calls[o.Name]) == 0 {
			t.Errorf("%s reads, and package seed has no input for it: give it one for each filter", o.Name)
		}
		for _, call := range calls[o.Name] {
			s.take()
			if _, told := do(t, r, Identity{Name: "account:ann", Scopes: []Access{Admin}}, o.Name, string(call.Input)); told != nil {
				t.Errorf("%s %s: %v", o.Name, call.Input, told)
			}
			costs[o.Name+": "+call.Name] = explain(t, r.deps.Pool, s.take())
		}
	}
	return costs
}

func explain(t *testing.T, pool *pgxpool.Pool, all []statement) (sum cost) {
	t.Helper()
	for _, s := range all {
		var raw []byte
		args := append([]any{pgx.QueryExecModeCacheDescribe}, s.args...)
		for range 2 { // the first look fills the catalog's caches
			if err := pool.QueryRow(t.Context(), "explain (analyze, buffers, format json) "+s.sql, args...).Scan(&raw); err != nil {
				t.Fatalf("explain %s: %v", s.sql, err)
			}
		}
		var plans []struct{ Plan node }
		if err := json.Unmarshal(raw, &plans); err != nil {
			t.Fatal(err)
		}
		root := plans[0].Plan
		sum.buffers += root.Hit + root.Read
		root.walk(func(n node, depth int) {
			if n.Type == "Seq Scan" && n.Hit+n.Read > endedScan && slices.Contains(seed.Tables, n.Table) {
				sum.scanned = append(sum.scanned, n.Table)
			}
			sum.plans += fmt.Sprintf("%s%s %s %s: %d pages, %.0f rows, %.0f times\n",
				strings.Repeat("  ", depth), n.Type, n.Table, n.Index, n.Hit+n.Read, n.Rows, n.Loops)
		}, 0)
	}
	return sum
}

// node is one of a plan's.
type node struct {
	Type  string  `json:"Node Type"`
	Table string  `json:"Relation Name"`
	Index string  `json:"Index Name"`
	Hit   int     `json:"Shared Hit Blocks"`
	Read  int     `json:"Shared Read Blocks"`
	Rows  float64 `json:"Actual Rows"`
	Loops float64 `json:"Actual Loops"`
	Plans []node
}

func (n node) walk(visit func(n node, depth int), depth int) {
	visit(n, depth)
	for _, child := range n.Plans {
		child.walk(visit, depth+1)
	}
}
