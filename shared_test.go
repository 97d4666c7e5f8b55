package postbus_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/pg"
)

func shared(s events.Subscription) events.Subscription {
	s.Shared = true
	return s
}

// Promise: a shared subscription may be declared by several applications, and an event makes one job for all of them.
func TestSharedSubscriptionOfTwoApplicationsGetsOneJob(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	sub := shared(to("shared.sub", ignore))
	bus := startBus(t, pool, postbus.Config{App: "first", Subscriptions: []events.Subscription{sub}})
	startBus(t, pool, postbus.Config{App: "second", Types: []events.Type{}, Subscriptions: []events.Subscription{sub}})
	recordAll(t, pool, bus.Recorder(), 50, numbered("note-"))
	eventually(t, 20*time.Second, pool, int64(50), `select count(*) from postbus.river_job where kind = 'shared.sub' and state = 'completed'`)
	if n := one[int64](t, pool, `select count(*) from postbus.river_job where kind = 'shared.sub'`); n != 50 {
		t.Errorf("%d jobs for 50 events", n)
	}
	subs, err := bus.Events().Subscriptions(t.Context())
	want := []events.DeclaredSubscription{{Name: "shared.sub", Shared: true, Types: []string{"note.*"}, Queue: "default", MaxAttempts: 8}}
	if diff := cmp.Diff(want, subs, cmpopts.IgnoreFields(events.DeclaredSubscription{}, "SeenAt")); err != nil || diff != "" {
		t.Errorf("subscriptions (-want +got), %v:\n%s", err, diff)
	}
}

// Promise: a name is either shared or one application's; the other is refused with what to do.
func TestNameIsEitherSharedOrOwned(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	startBus(t, pool, postbus.Config{App: "first", Subscriptions: []events.Subscription{
		shared(to("shared.sub", ignore)), to("owned.sub", ignore),
	}})
	for says, sub := range map[string]events.Subscription{
		"is shared by several applications":  to("shared.sub", ignore),
		"is declared by first as its own":    shared(to("owned.sub", ignore)),
		"\"owned.sub\" is declared by first": to("owned.sub", ignore),
	} {
		bus, err := postbus.New(pool, quick(postbus.Config{App: "second", Types: []events.Type{}, Subscriptions: []events.Subscription{sub}}))
		if err != nil {
			t.Fatal(err)
		}
		if err := bus.Declare(t.Context()); !errors.Is(err, events.ErrForeignName) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s, shared %v: %v; want ErrForeignName that says %q", sub.Name, sub.Shared, err, says)
		}
	}
}

func deliver(name string) events.Subscription {
	return events.Subscription{Name: name, Types: []string{"*"}, Effect: events.Delivery, Shared: true, Handle: ignore}
}

// Promise: an internal type never leaves as a webhook: a subscription that delivers gets no job for it, whether the type was
// declared in Go or in SQL, and does for one that is exposed.
func TestDeliveringSubscriptionIsNotToldOfInternalTypes(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{
		Types:         []events.Type{{Name: "go.internal"}, {Name: "go.exposed", Exposure: events.Webhook, Description: "d", Subject: "s"}},
		Subscriptions: []events.Subscription{deliver("deliver"), {Name: "all", Types: []string{"*"}, Handle: ignore}},
	})
	mustExec(t, pool, `select postbus.declare_type('sql.internal'), postbus.declare_type('sql.exposed', exposure => 'webhook')`)
	types := []string{"go.internal", "go.exposed", "sql.internal", "sql.exposed"}
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		for _, typ := range types {
			id, err := bus.Events().RecordReturning(ctx, tx, "owner", typ, "s", nil)
			if err != nil {
				return err
			}
			if e, err := bus.Events().Read(ctx, tx, id); err != nil || e.Type != typ {
				t.Errorf("the event of id %s is %+v, %v", id, e, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, pool, int64(4), `select count(*) from postbus.river_job where kind = 'all'`)
	const told = `select coalesce(string_agg(type, ' ' order by type), '') from postbus.events where jsonb_exists(fanout, 'deliver')`
	if got := one[string](t, pool, told); got != "go.exposed sql.exposed" {
		t.Errorf("the delivering subscription was told of %q", got)
	}
	if n := one[int64](t, pool, `select count(*) from postbus.river_job where kind = 'deliver'`); n != 2 {
		t.Errorf("%d jobs, want 2", n)
	}
	mustExec(t, pool, `delete from postbus.event_types where name like 'webhook.%' or name like 'mail.%' or name like 'postbus.%'`) // the house's own
	declared, err := bus.Events().Types(t.Context())
	want := []events.DeclaredType{
		{Type: events.Type{Name: "go.exposed", Description: "d", Subject: "s", Exposure: events.Webhook}, App: "app"},
		{Type: events.Type{Name: "go.internal", Exposure: events.Internal}, App: "app"},
		{Type: events.Type{Name: "sql.exposed", Exposure: events.Webhook}},
		{Type: events.Type{Name: "sql.internal", Exposure: events.Internal}},
	}
	if diff := cmp.Diff(want, declared); err != nil || diff != "" {
		t.Errorf("types (-want +got), %v:\n%s", err, diff)
	}
}

// A bus with webhooks on and no type declared yet boots.
func TestEverythingMatchesWhereNothingIsDeclared(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	mustExec(t, pool, `delete from postbus.event_types`)
	startBus(t, pool, postbus.Config{Types: []events.Type{}, Subscriptions: []events.Subscription{deliver("deliver")}})
}
