package webhooks

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/pg"
)

// Deleting an endpoint and its effect on what is pending is one transaction. History stays.
func TestDeletingAnEndpoint(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.endpoint(func(s *EndpointSpec) { s.MaxInFlight = 3; s.Headers = map[string]string{"a": "b"} }).ID
	flying, waiting, done := o.delivery("a"), o.delivery("b"), o.delivery("c")
	o.putInFlight(flying, 1, "1 minute")
	o.settleAs(done, Delivered, "")
	if err := o.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		d     Delivery
		state DeliveryState
	}{{flying, Pending}, {waiting, Discarded}, {done, Delivered}} {
		if d := o.again(c.d); d.State != c.state {
			t.Errorf("delivery %s is %s (%s), want %s", d.ID, d.State, d.Reason, c.state)
		}
	}
	if d := o.again(waiting); d.Reason != "endpoint deleted" || d.AcknowledgedAt == nil {
		t.Errorf("reason %q, acknowledged at %v", d.Reason, d.AcknowledgedAt)
	}
	if n := o.count(`select count(*) from postbus.webhook_secrets`) + o.count(`select count(*) from postbus.webhook_endpoints`); n != 0 {
		t.Errorf("%d rows of the endpoint are left", n)
	}
	if n := o.count(`select count(*) from postbus.webhook_slots`); n != 1 {
		t.Errorf("%d slots, want the one in flight", n)
	}
	if err := o.Delete(t.Context(), id); !errors.Is(err, ErrNotFound) {
		t.Errorf("twice: %v, want ErrNotFound", err)
	}
	if _, ds := o.fan("d"); len(ds) != 0 {
		t.Errorf("an event after the deletion has %d deliveries", len(ds))
	}
}

// A deletion waits for a fan-out that is under way, and discards what that made: no pending delivery is left behind.
func TestDeletingBesideAFanOut(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.endpoint().ID
	event := o.record("a", `{}`)
	var deletion sync.WaitGroup
	err := pg.InTx(t.Context(), o.pool, func(ctx context.Context, tx pgx.Tx) error {
		if err := o.fanOutTo(ctx, tx, event, takers{ids: []string{id}}); err != nil {
			return err
		}
		deletion.Go(func() {
			if err := o.Delete(t.Context(), id); err != nil {
				t.Error(err)
			}
		})
		wait.Eventually(t, 10*time.Second, func() (bool, string) {
			n := o.count(`select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
			return n == 1, "the deletion does not wait"
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	deletion.Wait()
	if n := o.count(`select count(*) from postbus.webhook_deliveries where state = 'discarded'`); n != 1 {
		t.Errorf("%d deliveries are discarded, want 1", n)
	}
	if a := o.account(); a.Unaccounted != 0 || a.Matched != 1 {
		t.Errorf("%+v", a)
	}
}

// Fan-outs and deletions at the same time, in any order.
func TestDeletingBesideFanOuts(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	for range 10 {
		id := o.endpoint().ID
		event := o.record("a", `{}`)
		errs := make(chan error, 2)
		turn := make(chan bool, 2)
		turn <- true
		turn <- false
		inParallel(2, func() {
			if <-turn {
				errs <- o.fanOut(t.Context(), event)
			} else {
				errs <- o.Delete(t.Context(), id)
			}
		})
		if err := errors.Join(<-errs, <-errs); err != nil {
			t.Fatal(err)
		}
	}
	if n := o.count(`select count(*) from postbus.webhook_deliveries where state = 'pending'`); n != 0 {
		t.Errorf("%d deliveries are pending at endpoints that are gone", n)
	}
	if a := o.account(); a.Unaccounted != 0 {
		t.Errorf("%+v", a)
	}
}

func (o *office) account() Account {
	o.t.Helper()
	a, err := o.Account(o.t.Context(), AccountFilter{})
	if err != nil {
		o.t.Fatal(err)
	}
	return a
}
