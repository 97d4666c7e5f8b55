package postbus_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
)

// The backlog's alert stands while more than 1,000 events wait, or one waits longer than 5 minutes, and no longer.
func TestBacklogAlert(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus, err := postbus.New(pool, quick(postbus.Config{})) // not started: nothing is fanned out
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Declare(t.Context()); err != nil {
		t.Fatal(err)
	}
	recordAll(t, pool, bus.Recorder(), 1000, numbered("note-"))
	requireAlert(t, bus, events.AlertBacklog, false)
	recordAll(t, pool, bus.Recorder(), 1, numbered("more-"))
	requireAlert(t, bus, events.AlertBacklog, true)
	mustExec(t, pool, `update postbus.events set fanned_out_at = now(), fanout = '{}' where subject <> 'note-7'`)
	requireAlert(t, bus, events.AlertBacklog, false)
	mustExec(t, pool, `update postbus.events set occurred_at = occurred_at - interval '6 minutes' where subject = 'note-7'`)
	requireAlert(t, bus, events.AlertBacklog, true)
	mustExec(t, pool, `update postbus.events set fanned_out_at = now(), fanout = '{}'`)
	requireAlert(t, bus, events.AlertBacklog, false)
}

// Promise: a handler that fails for good is never silent: its job stays as discarded and the alert stands until somebody
// retries, cancels or acknowledges it.
func TestDiscardedAlertStandsUntilSeenTo(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{
		to("index", func(context.Context, events.Event) error { return jobs.Discard(errors.New("no such thing")) }),
	}})
	recordAll(t, pool, bus.Recorder(), 2, numbered("note-"))
	eventually(t, 20*time.Second, pool, int64(2), `select count(*) from postbus.river_job where kind = 'index' and state = 'discarded'`)
	requireAlert(t, bus, events.AlertDiscarded, true)
	page, err := bus.Inspector().List(t.Context(), jobs.Filter{Unacked: true})
	if err != nil || len(page.Jobs) != 2 || page.Jobs[0].Errors[0].Error != "no such thing" {
		t.Fatalf("discarded jobs %+v, %v", page.Jobs, err)
	}
	if err := bus.Inspector().Acknowledge(t.Context(), page.Jobs[0].ID); err != nil {
		t.Fatal(err)
	}
	requireAlert(t, bus, events.AlertDiscarded, true)
	if _, err := bus.Inspector().Cancel(t.Context(), page.Jobs[1].ID); err != nil {
		t.Fatal(err)
	}
	requireAlert(t, bus, events.AlertDiscarded, false)
}

// A subscription is retired by hand only when nobody living declares it.
func TestRetireSubscription(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{to("index", ignore)}})
	if err := bus.Events().RetireSubscription(t.Context(), "index"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("a living subscription was retired: %v", err)
	}
	mustExec(t, pool, `insert into postbus.subscriptions (name, declaration, app, types, coalesces, queue, max_attempts, seen_at)
		values ('gone', 'x', 'app', '{note.*}', false, 'default', 3, now() - interval '1 hour')`)
	recordAll(t, pool, bus.Recorder(), 1, numbered("within-the-grace-"))
	eventually(t, 10*time.Second, pool, int64(1), `select count(*) from postbus.river_job where kind = 'gone'`)
	if err := bus.Events().RetireSubscription(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	recordAll(t, pool, bus.Recorder(), 1, numbered("after-"))
	eventually(t, 10*time.Second, pool, int64(2), `select count(*) from postbus.river_job where kind = 'index'`)
	if n := one[int64](t, pool, `select count(*) from postbus.river_job where kind = 'gone'`); n != 1 {
		t.Errorf("a retired subscription has %d jobs, want the 1 from before", n)
	}
}
