package postbus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
)

// raiseFor makes the job table refuse the jobs of the event about the subject, as a broken trigger of a user's would.
const raiseFor = `
create function refuse() returns trigger language plpgsql as $$
begin
    if exists (select from postbus.events where id::text = new.args->>'event_id' and subject = 'bad') then
        raise exception 'no job for this one';
    end if;
    return new;
end $$;
create trigger refuse before insert on postbus.river_job for each row execute function refuse()`

// Promise: a bad event costs only itself; after 5 failures it is poisoned, raises an alert, and can be requeued.
func TestOneBadEventAmongGoodOnesIsPoisonedAndRequeued(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	if _, err := pool.Exec(t.Context(), raiseFor); err != nil {
		t.Fatal(err)
	}
	bus, err := postbus.New(pool, quick(postbus.Config{Subscriptions: []events.Subscription{to("index", ignore)}}))
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	recordAll(t, pool, bus.Recorder(), 100, func(i int) string {
		if i == 50 {
			return "bad"
		}
		return fmt.Sprint("good", i)
	})
	if err := bus.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bus.Stop(context.Background()) }()

	eventually(t, 10*time.Second, pool, int64(99), `select count(*) from postbus.events where fanned_out_at is not null`)
	if passes := one[int64](t, pool, `select count(distinct xmin::text) from postbus.events where fanned_out_at is not null`); passes != 1 {
		t.Errorf("the 99 good events took %d passes, want 1", passes)
	}
	bad := one[string](t, pool, `select id::text from postbus.events where subject = 'bad'`)
	wait.Eventually(t, 10*time.Second, func() (bool, string) {
		e, err := bus.Events().Get(t.Context(), bad)
		return err == nil && e.Status == events.Poisoned, fmt.Sprintf("is %v, %v", e.Status, err)
	})
	e, err := bus.Events().Get(t.Context(), bad)
	if err != nil || e.Attempts != 5 || !strings.Contains(e.LastError, "no job for this one") {
		t.Errorf("poisoned after %d attempts with error %q (%v), want 5 and the trigger's text", e.Attempts, e.LastError, err)
	}
	requireAlert(t, bus, events.AlertPoisoned, true)

	if _, err := pool.Exec(t.Context(), `drop trigger refuse on postbus.river_job`); err != nil {
		t.Fatal(err)
	}
	if err := bus.Events().Requeue(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	if _, fanned, err := bus.Events().AwaitFanout(t.Context(), bad, 10*time.Second); err != nil || !fanned {
		t.Errorf("requeued and not fanned out: %v", err)
	}
	requireAlert(t, bus, events.AlertPoisoned, false)
	if err := bus.Events().Requeue(t.Context(), bad); !errors.Is(err, events.ErrNotPoisoned) {
		t.Errorf("requeue of an event that is not poisoned: %v, want ErrNotPoisoned", err)
	}
}

// Promise: a bad event costs only itself: those beside it do not even wait for the next poll, which is far away here.
func TestOneBadEventDoesNotMakeTheOthersWait(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	if _, err := pool.Exec(t.Context(), raiseFor); err != nil {
		t.Fatal(err)
	}
	cfg := quick(postbus.Config{Subscriptions: []events.Subscription{to("index", ignore)}})
	cfg.PollInterval = time.Hour
	bus, err := postbus.New(pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bus.Stop(context.Background()) }()
	recordAll(t, pool, bus.Recorder(), 1, numbered("first"))
	eventually(t, 20*time.Second, pool, int64(0), unfannedSQL)
	free := 0 // looks in a row that found nobody on duty: by then the relay sleeps
	wait.Eventually(t, 20*time.Second, func() (bool, string) {
		free++
		if !one[bool](t, pool, `select pg_try_advisory_xact_lock_shared(5287002951004850)`) {
			free = 0
		}
		return free > 40, "the relay is still on duty"
	})
	recordAll(t, pool, bus.Recorder(), 3, func(i int) string { return [...]string{"good", "bad", "fine"}[i] })
	eventually(t, 20*time.Second, pool, int64(2), `select count(*) from postbus.events where fanned_out_at is not null and subject in ('good', 'fine')`)
}

// A relay that owes rows a careful pass does not forget it while another holds them: otherwise two relays could spoil each other's turn
// again and again.
func TestCareOutlivesAPassThatFindsTheRowsHeld(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	mustExec(t, pool, raiseFor)
	mustExec(t, pool, `create function hold() returns trigger language plpgsql as $$
		begin perform pg_advisory_xact_lock_shared(77); return new; end $$;
		create trigger a_hold before insert on postbus.river_job for each row when (new.kind = 'index') execute function hold()`)
	said := &logBook{}
	startBus(t, pool, postbus.Config{
		Subscriptions: []events.Subscription{to("index", ignore)},
		Log:           said.logger(),
	})
	gate, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = gate.Rollback(context.Background()) }()
	if _, err := gate.Exec(t.Context(), `select pg_advisory_xact_lock(77)`); err != nil {
		t.Fatal(err)
	}
	mustExec(t, pool, `select postbus.record('owner', 'note.changed', s) from unnest('{good,bad}'::text[]) as s`)
	other, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Rollback(context.Background()) }()
	eventually(t, 10*time.Second, pool, int64(1), `select count(*) from pg_locks where locktype = 'advisory' and objid = 77 and not granted
		and database = (select oid from pg_database where datname = current_database())`)
	has := make(chan error, 1)
	go func() {
		_, err := other.Exec(context.Background(), `select from postbus.events for update`)
		has <- err
	}()
	eventually(t, 10*time.Second, pool, true, `select exists (select from pg_stat_activity where datname = current_database()
		and wait_event_type = 'Lock' and query = 'select from postbus.events for update')`)
	if err := gate.Rollback(t.Context()); err != nil { // the pass fails, and the rows go to the one that waits for them
		t.Fatal(err)
	}
	if err := <-has; err != nil {
		t.Fatal(err)
	}
	looks := 0
	wait.Eventually(t, 10*time.Second, func() (bool, string) { looks++; return looks > 40, "" }) // ten polls, which find them held
	if err := other.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, pool, int64(1), `select count(*) from postbus.events where fanned_out_at is not null`)
	if n := said.count("trying again event by event"); n != 1 {
		t.Errorf("the batch failed as a whole %d times, want 1", n)
	}
}

func requireAlert(t *testing.T, bus *postbus.Bus, name string, want bool) {
	t.Helper()
	alerts, err := bus.Events().Alerts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stands := false
	for _, a := range alerts {
		stands = stands || a.Name == name
	}
	if stands != want {
		t.Errorf("alert %s stands: %v, want %v (%+v)", name, stands, want, alerts)
	}
}
