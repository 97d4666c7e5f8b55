package webhooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/pg"
)

// Events with a pending delivery are kept, and those with a discarded one until it is acknowledged or 30 days old.
func TestHoldingAndPruned(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.endpoint()
	pending, delivered, fresh, acked, old := o.delivery("a"), o.delivery("b"), o.delivery("c"), o.delivery("d"), o.delivery("e")
	o.settleAs(delivered, Delivered, "")
	for _, d := range []Delivery{fresh, acked, old} {
		o.settleAs(d, Discarded, "why")
	}
	o.exec(`update postbus.webhook_deliveries set acknowledged_at = now() where id = $1`, acked.ID)
	o.exec(`update postbus.webhook_deliveries set settled_at = now() - interval '31 days' where id = $1`, old.ID)
	o.exec(`insert into postbus.webhook_attempts (delivery_id, n, endpoint_id, attempted_at, url, spent, latency_ms)
		select id, 1, endpoint_id, now(), 'https://example.com', true, 1 from postbus.webhook_deliveries`)
	var all []string
	for _, d := range []Delivery{pending, delivered, fresh, acked, old} {
		all = append(all, d.EventID)
	}
	err := pg.InTx(t.Context(), o.pool, func(ctx context.Context, tx pgx.Tx) error {
		held, err := o.Holding(ctx, tx, all)
		if err != nil {
			return err
		}
		slices.Sort(held)
		want := slices.Sorted(slices.Values([]string{pending.EventID, fresh.EventID}))
		if diff := cmp.Diff(want, held); diff != "" {
			t.Errorf("held: %s", diff)
		}
		return o.Pruned(ctx, tx, []string{delivered.EventID, acked.EventID})
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"deliveries", "attempts", "fanouts"} {
		if n := o.count(`select count(*) from postbus.webhook_` + table); n != 3 {
			t.Errorf("%d %s are left, want 3", n, table)
		}
	}
	if a := o.account(); a.Unaccounted != 0 || a.FannedOut != 3 {
		t.Errorf("%+v", a)
	}
}

// Retention and a redelivery at the same time: the event is gone and the redelivery refused, or it is kept.
func TestRedeliveringBesideRetention(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.endpoint()
	for range 20 {
		d := o.delivery("a")
		o.settleAs(d, Delivered, "")
		turn := make(chan bool, 2)
		turn <- true
		turn <- false
		inParallel(2, func() {
			if <-turn {
				if _, err := o.Redeliver(t.Context(), d.ID); err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) {
					t.Error(err)
				}
				return
			}
			if err := o.retention(t.Context(), d.EventID); err != nil {
				t.Error(err)
			}
		})
	}
	if n := o.count(`select count(*) from postbus.webhook_deliveries as d where not exists (select from postbus.events as e where e.id = d.event_id)`); n != 0 {
		t.Errorf("%d deliveries without their event", n)
	}
}

// retention does what the bus does with an event that is old enough.
func (o *office) retention(ctx context.Context, eventID string) error {
	return pg.InTx(ctx, o.pool, func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `select from postbus.events where id = $1 for update skip locked`, eventID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		held, err := o.Holding(ctx, tx, []string{eventID})
		if err != nil || len(held) > 0 {
			return err
		}
		if _, err := tx.Exec(ctx, `delete from postbus.events where id = $1`, eventID); err != nil {
			return err
		}
		return o.Pruned(ctx, tx, []string{eventID})
	})
}

func TestPruneAttempts(t *testing.T) {
	t.Parallel()
	o := newOffice(t, func(c *Config) { c.KeepAttempts = 30 * 24 * time.Hour })
	o.exec(`insert into postbus.webhook_attempts (delivery_id, n, endpoint_id, attempted_at, url, spent, latency_ms)
		select d, n, gen_random_uuid(),
			now() - case when d <= 500 and n < 6 or d = 1200 then interval '31 days' else interval '29 days' end,
			'https://example.com', true, 1
		from generate_series(1, 1200) as d, generate_series(1, 6) as n`)
	if err := o.pruneAttempts(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := o.count(`select count(*) from postbus.webhook_attempts where attempted_at < now() - interval '30 days' and delivery_id <= 500`); n != 0 {
		t.Errorf("%d old attempts are left", n)
	}
	if n := o.count(`select count(*) from postbus.webhook_attempts where attempted_at > now() - interval '30 days'`); n != 500+699*6 {
		t.Errorf("%d young attempts are left, want %d", n, 500+699*6)
	}
}

// Whoever holds an attempt does not hold up the rest, and two that prune at once do not meet.
func TestPruneAttemptsInParallel(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.exec(`insert into postbus.webhook_attempts (delivery_id, n, endpoint_id, attempted_at, url, spent, latency_ms)
		select d, 1, gen_random_uuid(), now() - interval '31 days', 'https://example.com', true, 1 from generate_series(1, 5000) as d`)
	err := pg.InTx(t.Context(), o.pool, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select from postbus.webhook_attempts where delivery_id = 17 for update`); err != nil {
			return err
		}
		inParallel(3, func() {
			if err := o.pruneAttempts(t.Context()); err != nil {
				t.Error(err)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := one[string](t, o.pool, `select string_agg(delivery_id::text, ',') from postbus.webhook_attempts`); got != fmt.Sprint(17) {
		t.Errorf("left: %s, want 17", got)
	}
}
