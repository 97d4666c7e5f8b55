package workers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
)

// Promise: what postbus.enqueue is given in a transaction that commits becomes exactly one job, its args without loss, and is
// nothing where it is rolled back.
func TestEnqueueIsPartOfTheTransaction(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const args = `{"order":  9007199254740993, "b": 1.50e3, "a": "it's <b> é ☃ \u00e9", "order": 2}`
	s.psql(fmt.Sprintf(`
		select postbus.declare_kind('print');
		begin; select postbus.enqueue('print', '{"n": "rolled back"}'); rollback;
		begin; savepoint a; select postbus.enqueue('print', '{"n": "rolled back"}'); rollback to a; select postbus.enqueue('print', %s, owner => 'ann'); commit;
		begin; select postbus.enqueue('print', '{"n": "rolled back"}');`, "$x$"+args+"$x$"))
	s.psql(`select postbus.enqueue('print', '{"n": "recorded after them"}');`)
	until(s, 30*time.Second, 2, jobsSQL, "print")
	until(s, 30*time.Second, 0, `select count(*)::int from postbus.events where fanned_out_at is null`)
	if n := ask[int](s, jobsSQL, "print"); n != 2 {
		t.Errorf("%d jobs, want 2", n)
	}
	var got, owner string
	var attempt int
	err := s.pool.QueryRow(t.Context(), `select args::text, owner, attempt from postbus.claim_work(array['print'], 'w', 2) where owner = 'ann'`).Scan(&got, &owner, &attempt)
	if err != nil || got != args || attempt != 1 {
		t.Errorf("the worker got %s, attempt %d (%v); want %s", got, attempt, err, args)
	}
}

// Promise: a job is not claimed before the run_at that it was enqueued with.
func TestEnqueueKeepsRunAt(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.psql(`select postbus.declare_kind('print');
		select postbus.enqueue('print', '{}', now() + interval '2 seconds'), postbus.enqueue('print', '{}', '2100-01-01 00:00:00.123456+02');`)
	until(s, 30*time.Second, 2, jobsSQL, "print")
	until(s, 30*time.Second, true, `select exists (select from postbus.claim_work(array['print'], 'w'))`)
	early := ask[bool](s, `select j.attempted_at < e.occurred_at + interval '1.9 seconds' from postbus.river_job as j, postbus.events as e
		where j.state = 'running' and e.data ->> 'run_at' not like '2099%'`)
	later := ask[bool](s, `select scheduled_at = '2100-01-01 00:00:00.123456+02' from postbus.river_job where state = 'scheduled'`)
	if early || !later {
		t.Errorf("a job ran before its time: %v; the other keeps its time to the microsecond: %v", early, later)
	}
}

// Promise: kinds of a running Go application are enqueued in SQL like external ones, and its handler gets the args.
func TestEnqueueReachesGoKinds(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	got := make(chan string, 1)
	app, err := postbus.New(s.pool, postbus.Config{App: "app", Log: testdb.Log(), Types: []events.Type{}, Kinds: []jobs.Kind{{
		Name: "greet", MaxAttempts: 3, Handle: func(_ context.Context, args json.RawMessage) error { got <- string(args); return nil },
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Stop(context.Background()) })
	const args = `{"n": 9007199254740993, "name": "ann"}`
	s.psql(`select postbus.enqueue('greet', '` + args + `');`)
	select {
	case given := <-got:
		if given != args {
			t.Errorf("the handler got %s, want %s", given, args)
		}
	case <-time.After(30 * time.Second):
		t.Error("the handler was not called")
	}
	s.refused("22023", "not declared as external", `select * from postbus.claim_work(array['greet'], 'w')`)
	s.refused("42501", "belongs to application 'app'", `select postbus.declare_kind('greet')`)
	s.refused("42501", "belongs to application 'app'", `select postbus.declare_subscription('greet', array['*'])`)
	s.refused("22023", "not declared in SQL", `select postbus.retire_kind('greet')`)
}

// Promise: a subscription that is declared in SQL is told of what is recorded after it, by a relay that runs already; declared
// anew it is told of other types, and retired of none.
func TestSubscriptionsAreDeclaredChangedAndRetiredInSQL(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.psql(`select postbus.declare_type('order.paid'); select postbus.declare_type('note.made'); select postbus.declare_kind('fence');`)
	record := func(round string) {
		t.Helper()
		s.psql(fmt.Sprintf(`select postbus.record('shop', typ, '%s') from unnest(array['order.placed', 'order.paid', 'note.made']) as typ;`, round))
		until(s, 30*time.Second, 0, `select count(*)::int from postbus.events where fanned_out_at is null`)
	}
	record("before")
	s.psql(`select postbus.declare_subscription('labels', array['order.placed'], 5, '7 seconds', array['1 hour']::interval[], description => 'Prints labels');`)
	record("declared")
	s.psql(`select postbus.declare_subscription('labels', array['order.*', 'note.made'], 9);`)
	record("changed")
	s.psql(`select postbus.retire_kind('labels');`)
	record("retired")
	got := ask[string](s, `select string_agg(format('%s %s %s', e.subject, e.type, j.max_attempts), ', ' order by e.seq)
		from postbus.river_job as j join postbus.events as e on e.id::text = j.args ->> 'event_id'`)
	want := strings.Join([]string{"declared order.placed 5", "changed order.placed 9", "changed order.paid 9", "changed note.made 9"}, ", ")
	if got != want {
		t.Errorf("jobs are\n%s, want\n%s", got, want)
	}
	s.refused("22023", "is not declared as external", `select * from postbus.claim_work(array['labels'], 'w')`)
}
