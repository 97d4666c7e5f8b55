package instance_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/faultproxy"
	"github.com/postbus/postbus/internal/instance"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/pg"
)

func TestMain(m *testing.M) {
	testdb.Run(m, func(ctx context.Context, pool *pgxpool.Pool) error { return pg.Migrate(ctx, pool) })
}

func config(t *testing.T) instance.Config {
	return instance.Config{
		App: "shop", Kinds: []string{"a", "b"}, Every: 50 * time.Millisecond, DeadAfter: time.Second,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

func rows(t *testing.T, pool *pgxpool.Pool, where string) (n int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), "select count(*) from postbus.instances where "+where).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// The row is there when Start returns, is kept fresh, and is gone when Stop returns.
func TestRowFollowsTheInstance(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	i := instance.New(pool, config(t))
	if err := i.Stop(t.Context()); err != nil {
		t.Errorf("stop of one that never started: %v", err)
	}
	if err := i.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := rows(t, pool, "id = '"+i.ID()+"' and app = 'shop' and kinds = '{a,b}'"); n != 1 {
		t.Errorf("after Start there are %d rows, want 1", n)
	}
	wait.Eventually(t, 20*time.Second, func() (bool, string) {
		return rows(t, pool, "seen_at > started_at + interval '100 milliseconds'") == 1, "the row is not kept fresh"
	})
	for range 2 {
		if err := i.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := rows(t, pool, "true"); n != 0 {
		t.Errorf("after Stop there are %d rows, want none", n)
	}
}

func TestIDsDifferAndFitRiver(t *testing.T) {
	t.Parallel()
	a, b := instance.New(nil, instance.Config{}), instance.New(nil, instance.Config{})
	if a.ID() == b.ID() || len(a.ID()) > 100 || strings.Contains(a.ID(), ",") {
		t.Errorf("ids %q and %q", a.ID(), b.ID())
	}
}

// Steady counts from the first beat after a gap: an instance that was cut off is not steady, whatever it was before.
func TestSteadyBeginsAgainAfterAGap(t *testing.T) {
	t.Parallel()
	proxy, through := faultproxy.ForURL(t, testdb.URL(t))
	pool, err := pgxpool.New(t.Context(), through)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	i := instance.New(pool, config(t))
	if got := i.Steady(); got != 0 {
		t.Errorf("before Start it is steady for %s", got)
	}
	if err := i.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Stop(context.Background()) })
	t.Cleanup(proxy.Heal)
	const long = 500 * time.Millisecond
	wait.Eventually(t, 20*time.Second, func() (bool, string) { return i.Steady() > long, "not steady" })
	proxy.Refuse()
	proxy.Cut()
	wait.Eventually(t, 20*time.Second, func() (bool, string) { return i.Steady() == 0, "steady though it is cut off" })
	proxy.Heal()
	wait.Eventually(t, 20*time.Second, func() (bool, string) { return i.Steady() > long, "not steady again for long" })
}

// A row that was not kept fresh by the database's clock is a gap, though the process's own clock saw none.
func TestGapIsJudgedByTheDatabase(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	cfg := config(t)
	cfg.DeadAfter = time.Minute
	i := instance.New(pool, cfg)
	if err := i.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Stop(context.Background()) })
	const long = 500 * time.Millisecond
	wait.Eventually(t, 20*time.Second, func() (bool, string) { return i.Steady() > long, "not steady" })
	// Again and again: a beat that is under way writes over it.
	wait.Eventually(t, 20*time.Second, func() (bool, string) {
		if _, err := pool.Exec(t.Context(), "update postbus.instances set seen_at = seen_at - interval '2 minutes'"); err != nil {
			t.Fatal(err)
		}
		return i.Steady() < long, "steady over a gap of two minutes"
	})
}
