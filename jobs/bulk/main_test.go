package bulk

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/instance"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/pg"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childEnv); url != "" {
		child(url)
		return
	}
	testdb.Run(m, func(ctx context.Context, pool *pgxpool.Pool) error { return pg.Migrate(ctx, pool, river.Migrator()) })
}

// desk is a process that does acts, on a database of the test's own.
type desk struct {
	testing.TB
	*Service
	pool    *pgxpool.Pool
	runtime *river.Runtime
	self    *instance.Instance
}

// newDesk makes one that does not run: a test does an act step by step.
func newDesk(t testing.TB, kinds ...jobs.Kind) *desk {
	t.Helper()
	return deskOn(t, testdb.New(t), kinds...)
}

func deskOn(t testing.TB, pool *pgxpool.Pool, kinds ...jobs.Kind) *desk {
	t.Helper()
	d, err := compose(pool, kinds...)
	if err != nil {
		t.Fatal(err)
	}
	d.TB = t
	return d
}

func compose(pool *pgxpool.Pool, kinds ...jobs.Kind) (*desk, error) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	d := &desk{pool: pool, Service: New(pool, log)}
	d.self = instance.New(pool, instance.Config{App: "desk", Every: 500 * time.Millisecond, DeadAfter: 3 * time.Second, Log: log})
	var err error
	d.runtime, err = river.New(pool, river.Config{
		App: "desk", Instance: d.self, Kinds: append(d.Kinds(), kinds...), Periodics: d.Periodics(), ReapEvery: 500 * time.Millisecond,
		FetchPoll: 100 * time.Millisecond, Log: log,
	})
	if err == nil {
		d.Bind(d.runtime)
	}
	return d, err
}

// run starts the desk and stops it at the test's end.
func (d *desk) run() {
	d.Helper()
	if err := errors.Join(d.self.Start(context.Background()), d.runtime.Start(context.Background())); err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { _ = errors.Join(d.runtime.Stop(context.Background()), d.self.Stop(context.Background())) })
}

func (d *desk) start(spec Spec) (act Act) {
	d.Helper()
	err := pg.InTx(context.Background(), d.pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		act, err = d.Start(ctx, tx, spec)
		return err
	})
	if err != nil {
		d.Fatalf("start %+v: %v", spec, err)
	}
	return act
}

func (d *desk) stop(id string) (act Act) {
	d.Helper()
	err := pg.InTx(context.Background(), d.pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		act, err = d.Stop(ctx, tx, id)
		return err
	})
	if err != nil {
		d.Fatalf("stop: %v", err)
	}
	return act
}

// do makes n steps, and fails the test where the act ends before or does not end with the last one.
func (d *desk) do(id string, n int, ends bool) {
	d.Helper()
	for k := range n {
		ended, err := d.step(context.Background(), id)
		if err != nil {
			d.Fatalf("step %d: %v", k, err)
		}
		if ended != (ends && k == n-1) {
			d.Fatalf("step %d of %d: ended is %v", k, n, ended)
		}
	}
}

// finish makes the steps that are left.
func (d *desk) finish(id string) {
	d.Helper()
	for range 1000 {
		ended, err := d.step(context.Background(), id)
		if err != nil {
			d.Fatal(err)
		}
		if ended {
			return
		}
	}
	d.Fatal("the act does not end")
}

// now is the act as it stands.
func (d *desk) now(id string) Act {
	d.Helper()
	act, err := d.Get(context.Background(), id)
	if err != nil {
		d.Fatal(err)
	}
	return act
}

// handled calls the handler as the queue does.
func (d *desk) handled(id string) error {
	raw, _ := json.Marshal(args{ActID: id})
	return d.handle(context.Background(), raw)
}

func (d *desk) exec(sql string, args ...any) {
	d.Helper()
	if _, err := d.pool.Exec(context.Background(), sql, args...); err != nil {
		d.Fatalf("%s: %v", sql, err)
	}
}

func (d *desk) one(sql string, args ...any) (n int64) {
	d.Helper()
	if err := d.pool.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		d.Fatalf("%s: %v", sql, err)
	}
	return n
}

// seed makes n jobs of the kind that failed for good an hour ago, in one statement.
func (d *desk) seed(kind string, n int) {
	d.Helper()
	d.exec(`insert into postbus.river_job (state, attempt, max_attempts, attempted_at, created_at, finalized_at, scheduled_at, args, errors, kind, metadata, queue)
		select 'discarded', 1, 1, now(), now() - interval '1 hour', now(), now(), jsonb_build_object('n', k), array['{"attempt":1,"error":"boom"}'::jsonb], $1,
			jsonb_build_object('owner', case when k % 2 = 0 then 'even' else 'odd' end), $1
		from generate_series(1, $2::int) as k`, kind, n)
}

// watch notes from now on each job that is made to run again, in the table retried.
func (d *desk) watch() {
	d.Helper()
	d.exec(`create table retried (id bigint);
		create function note_retry() returns trigger language plpgsql as $$ begin insert into retried values (new.id); return null; end $$;
		create trigger retried after update on postbus.river_job for each row
			when (old.state in ('discarded', 'cancelled', 'completed') and new.state = 'available' and new.kind <> 'postbus.bulk')
			execute function note_retry();`)
}

// once fails the test where not exactly n jobs were retried, each of them once.
func (d *desk) once(n int64) {
	d.Helper()
	times, each := d.one(`select count(*) from retried`), d.one(`select count(distinct id) from retried`)
	if times != n || each != n {
		d.Errorf("%d jobs were retried %d times in all, want %d jobs once each", each, times, n)
	}
}

func want[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
