package river_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/faultproxy"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/pg"
)

func enqueue(t *testing.T, r jobs.Jobs, kind string, opts jobs.EnqueueOpts) jobs.JobID {
	t.Helper()
	id, err := r.Enqueue(t.Context(), kind, struct{}{}, opts)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// An outcome is kept until the database takes it: a handler that ends while the database is away has not run in vain.
func TestOutcomeSurvivesAnOutage(t *testing.T) {
	t.Parallel()
	direct := testdb.New(t)
	proxy, through := faultproxy.ForURL(t, direct.Config().ConnString())
	pool, err := pgxpool.New(t.Context(), through)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	begun, end := make(chan struct{}, 10), make(chan struct{})
	r := start(t, pool, river.Config{Kinds: []jobs.Kind{{Name: "k", Handle: func(context.Context, json.RawMessage) error {
		begun <- struct{}{}
		<-end
		return nil
	}}}})
	t.Cleanup(proxy.Heal)
	id := enqueue(t, r, "k", jobs.EnqueueOpts{})
	<-begun
	proxy.Refuse()
	proxy.Cut()
	close(end)
	look, err := river.New(direct, river.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if job, err := look.Inspector().Get(t.Context(), id); err != nil || job.State != jobs.Running {
		t.Errorf("during the outage the job is %s, %v", job.State, err)
	}
	proxy.Heal()
	job := reaches(t, look, id, jobs.Completed)
	if job.Attempt != 1 || len(job.Errors) != 0 {
		t.Errorf("job = %+v, want one attempt without an error", job)
	}
	select {
	case <-begun:
		t.Error("the job ran twice")
	default:
	}
}

// Where neither LISTEN nor NOTIFY is to be had, everything works by polling: running, waiting, cancelling, pausing.
func TestPollOnly(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	begun := make(chan struct{}, 10)
	kinds := []jobs.Kind{{Name: "quick", Queue: "q", Handle: func(context.Context, json.RawMessage) error { return nil }},
		{Name: "long", Handle: func(ctx context.Context, _ json.RawMessage) error {
			begun <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}}}
	r := start(t, pool, river.Config{Kinds: kinds, PollOnly: true, ReapEvery: 200 * time.Millisecond})
	other, err := river.New(pool, river.Config{PollOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	opts := jobs.EnqueueOpts{Queue: "q", MaxAttempts: 1}
	id := enqueue(t, other, "quick", opts)
	if state, ok := other.Wait(t.Context(), id, 20*time.Second); !ok || state != jobs.Completed {
		t.Errorf("Wait = %s, %v", state, ok)
	}
	long := enqueue(t, r, "long", jobs.EnqueueOpts{})
	<-begun
	if _, err := other.Inspector().Cancel(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	reaches(t, r, long, jobs.Cancelled)

	if err := other.Inspector().Pause(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	// The pause is noticed some time after it is asked for: jobs of before it may still run.
	var waiting jobs.JobID
	wait.Eventually(t, 20*time.Second, func() (bool, string) {
		waiting = enqueue(t, other, "quick", opts)
		state, _ := other.Wait(t.Context(), waiting, 3*time.Second)
		return state == jobs.Pending, "the queue goes on"
	})
	if err := other.Inspector().Resume(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	reaches(t, r, waiting, jobs.Completed)
}

// A pause holds in its own process from the moment that it is answered, and its end is noticed at once, however often it is asked for.
func TestPauseHoldsAtOnce(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	r := start(t, testdb.New(t), river.Config{Kinds: []jobs.Kind{{
		Name: "quick", Queue: "q", Handle: func(context.Context, json.RawMessage) error { ran.Add(1); return nil },
	}}})
	reaches(t, r, enqueue(t, r, "quick", jobs.EnqueueOpts{Queue: "q"}), jobs.Completed)
	for range 50 {
		if err := r.Inspector().Pause(t.Context(), "q"); err != nil {
			t.Fatal(err)
		}
		before := ran.Load()
		id := enqueue(t, r, "quick", jobs.EnqueueOpts{Queue: "q"})
		if state, _ := r.Wait(t.Context(), id, 20*time.Millisecond); state != jobs.Pending || ran.Load() != before {
			t.Fatalf("a job of a paused queue is %s", state)
		}
		if err := r.Inspector().Resume(t.Context(), "q"); err != nil {
			t.Fatal(err)
		}
		reaches(t, r, id, jobs.Completed)
	}
}

// A handler that ignores the end of its context does not hold up Stop for ever, and its job is given back unspent.
func TestStopGivesUpOnADeafHandler(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	begun, end := make(chan struct{}, 1), make(chan struct{})
	r, err := river.New(pool, river.Config{StopGrace: 100 * time.Millisecond, Kinds: []jobs.Kind{{
		Name: "deaf", Timeout: -1, Handle: func(context.Context, json.RawMessage) error {
			begun <- struct{}{}
			<-end
			return errors.New("too late to matter")
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := enqueue(t, r, "deaf", jobs.EnqueueOpts{})
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := r.Stop(ctx); err == nil {
		t.Error("Stop answers nil though a handler has not returned")
	}
	job, err := r.Inspector().Get(t.Context(), id)
	if err != nil || job.State != jobs.Pending || job.Attempt != 0 {
		t.Errorf("job = %+v, %v; want it pending and unspent", job, err)
	}
	close(end)
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// A NOTIFY in every transaction makes commits queue behind one lock: a process sends few however much it enqueues, and
// every job is found all the same.
func TestNotificationsAreFewerThanInserts(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	listener := pg.NewListener(pool, pg.ListenerConfig{Buffer: 10_000})
	if err := listener.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(listener.Stop)
	sub := listener.Subscribe("postbus.river_insert")
	<-sub.C()
	r, err := river.New(pool, river.Config{FetchCooldown: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	const n = 200
	for range n {
		enqueue(t, r, "k", jobs.EnqueueOpts{Queue: "q", MaxAttempts: 1})
	}
	most := int(time.Since(began)/(100*time.Millisecond)) + 1
	if err := pg.Notify(t.Context(), pool, "postbus.river_insert", "end"); err != nil {
		t.Fatal(err)
	}
	got := 0
	for note := range sub.C() {
		if note.Payload == "end" {
			break
		}
		got++
	}
	if got < 1 || got > most {
		t.Errorf("%d inserts sent %d notifications, want 1 to %d", n, got, most)
	}
}

// Running the migrations again changes nothing, and they find a database that another process is migrating.
func TestMigratingTwice(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	shape := func() (text string) {
		err := pool.QueryRow(t.Context(), `select string_agg(format('%s %s %s', c.relname, c.relkind, c.reloptions), E'\n' order by c.relname)
			from pg_class c where c.relnamespace = 'postbus'::regnamespace`).Scan(&text)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	before := shape()
	for range 2 {
		if err := river.Migrator().Migrate(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
	}
	if after := shape(); after != before {
		t.Errorf("the second migration changed\n%s\nto\n%s", before, after)
	}
}

func TestConnBudgetCountsHandlersThatHoldAConnection(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	handle := func(context.Context, json.RawMessage) error { return nil }
	budget := func(cfg river.Config) int {
		t.Helper()
		r, err := river.New(pool, cfg)
		if err != nil {
			t.Fatal(err)
		}
		return r.ConnBudget()
	}
	light := budget(river.Config{Kinds: []jobs.Kind{{Name: "a", Handle: handle}}})
	heavy := budget(river.Config{
		Kinds: []jobs.Kind{{Name: "a", Handle: handle}, {Name: "b", Queue: "b", HoldsConn: true, Handle: handle}}, Queues: map[string]int{"b": 7},
	})
	if heavy-light != 7 {
		t.Errorf("budgets are %d and %d, want 7 between them", light, heavy)
	}
	if none := budget(river.Config{}); none != 0 {
		t.Errorf("a runtime that runs nothing needs %d connections", none)
	}
}

func TestDeclarationsThatCannotBe(t *testing.T) {
	t.Parallel()
	handle := func(context.Context, json.RawMessage) error { return nil }
	for name, cfg := range map[string]river.Config{
		"twice":            {Kinds: []jobs.Kind{{Name: "a", Handle: handle}, {Name: "a", Handle: handle}}},
		"a periodic's":     {Kinds: []jobs.Kind{{Name: "periodic.a", Handle: handle}}},
		"no workers":       {Kinds: []jobs.Kind{{Name: "a", Handle: handle}}, Queues: map[string]int{"default": 0}},
		"queue":            {Kinds: []jobs.Kind{{Name: "a", Queue: "a__b", Handle: handle}}},
		"periodic, no app": {Periodics: []jobs.Periodic{{Name: "p", Every: time.Minute, Run: func(context.Context) error { return nil }}}},
		"cooldown":         {FetchCooldown: time.Minute},
	} {
		if _, err := river.New(nil, cfg); !errors.Is(err, jobs.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		} else if testing.Verbose() {
			fmt.Println(err)
		}
	}
}

// A database whose default isolation is stricter changes nothing: what writes says its own.
func TestStricterDefaultIsolationDoesNotMatter(t *testing.T) {
	t.Parallel()
	config, err := pgxpool.ParseConfig(testdb.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "repeatable read"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	kinds := []jobs.Kind{{Name: "k", Receipt: true, Handle: func(context.Context, json.RawMessage) error { return nil }}}
	log := &lines{}
	for range 3 {
		r, err := river.New(pool, river.Config{Kinds: kinds, Log: slog.New(slog.NewTextHandler(log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Stop(context.Background()) })
		for range 30 {
			enqueue(t, r, "k", jobs.EnqueueOpts{})
		}
	}
	look, err := river.New(pool, river.Config{})
	if err != nil {
		t.Fatal(err)
	}
	wait.Eventually(t, 30*time.Second, func() (bool, string) {
		overview, err := look.Inspector().Overview(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		return overview.States[jobs.Completed].N == 90, fmt.Sprint(overview.States)
	})
	if text := log.String(); strings.Contains(text, "40001") {
		t.Errorf("serialization failures:\n%s", text)
	}
}

// lines is a log that may be read while it is written.
type lines struct {
	mu  sync.Mutex
	buf strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
