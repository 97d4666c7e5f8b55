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
