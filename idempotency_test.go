package postbus_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/bulk"
	"github.com/postbus/postbus/mail"
	"github.com/postbus/postbus/pg"
	"github.com/postbus/postbus/postbustest"
	"github.com/postbus/postbus/webhooks"
)

// driven is a bus with everything turned on, of which every kind has been given something to do.
type driven struct {
	*postbus.Bus
	pool     *pgxpool.Pool
	receiver *postbustest.Receiver
	box      *postbustest.Mailbox

	mu      sync.Mutex
	handled map[string]bool
}

// drive makes the bus and gives it an event, an endpoint, a rule, an act on many jobs and replays; more kinds are only declared.
func drive(t *testing.T, more ...jobs.Kind) *driven {
	t.Helper()
	d := &driven{pool: testdb.New(t), receiver: postbustest.NewReceiver(t), box: postbustest.NewMailbox(t), handled: map[string]bool{}}
	d.Bus = startBus(t, d.pool, withWebhooks(postbus.Config{
		Mail: mailConfig(d.box), Kinds: more, Subscriptions: []events.Subscription{to("index", func(_ context.Context, e events.Event) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.handled[e.ID] = true
			return nil
		})},
	}))
	made := endpointTo(t, d.Bus, d.receiver, webhooks.EndpointSpec{})
	if _, err := d.Mail().CreateRule(t.Context(), ruleTo("ann@example.com")); err != nil {
		t.Fatal(err)
	}
	change(t, d.pool, d.Bus, "note", map[string]string{"title": "first"})
	postbustest.WaitIdle(t, d.Bus, time.Minute)
	err := pg.InTx(t.Context(), d.pool, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := d.Bulk().Start(ctx, tx, bulk.Spec{Verb: bulk.Retry, Filter: jobs.Filter{Kinds: []string{"nobodys"}}}); err != nil {
			return err
		}
		for _, spec := range []events.ReplaySpec{
			{Target: events.ReplaySubscription, Name: "index"}, {Target: events.ReplayEndpoint, Name: made.ID},
		} {
			if _, err := d.Events().StartReplay(ctx, tx, spec); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	postbustest.WaitIdle(t, d.Bus, time.Minute)
	return d
}

// effect is what has come of it all.
func (d *driven) effect(t *testing.T) map[string]int {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	got := map[string]int{"handled": len(d.handled), "received": len(d.receiver.Messages()), "mails": len(d.box.Mails())}
	for _, table := range []string{"events", "webhook_deliveries", "webhook_attempts", "webhook_fanouts", "mails", "bulk_acts", "replays", "replayed"} {
		var n int
		if err := d.pool.QueryRow(t.Context(), "select count(*) from postbus."+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		got["rows of "+table] = n
	}
	return got
}

// kinds are all that the process has declared, whichever room they are of.
func (d *driven) kinds(t *testing.T) []string {
	t.Helper()
	rows, err := d.pool.Query(t.Context(), "select distinct name from postbus.kinds order by name")
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// undriven delivers every job again, kind by kind, and names the kinds of which there is none.
func (d *driven) undriven(t *testing.T) (unknown []string) {
	t.Helper()
	for _, kind := range d.kinds(t) {
		page, err := d.Inspector().List(t.Context(), jobs.Filter{Kinds: []string{kind}, Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Jobs) == 0 {
			unknown = append(unknown, kind)
			continue
		}
		before := d.effect(t)
		for _, listed := range page.Jobs {
			job, err := d.Inspector().Get(t.Context(), listed.ID)
			if err != nil {
				t.Fatal(err)
			}
			if job.State != jobs.Completed {
				t.Errorf("job %s of %s is %s: it has had no effect", job.ID, kind, job.State)
			}
			if _, err := d.Jobs().Enqueue(t.Context(), kind, json.RawMessage(job.Args), jobs.EnqueueOpts{Owner: job.Owner}); err != nil {
				t.Fatal(err)
			}
		}
		postbustest.WaitIdle(t, d.Bus, time.Minute)
		if diff := cmp.Diff(before, d.effect(t)); diff != "" {
			t.Errorf("%s is not idempotent (-delivered once +delivered twice):\n%s", kind, diff)
		}
	}
	return unknown
}

// Promise: whatever the façade registers, a subscription or a kind, has one effect when it is delivered twice.
func TestEveryKindIsIdempotent(t *testing.T) {
	t.Parallel()
	d := drive(t)
	if unknown := d.undriven(t); len(unknown) > 0 {
		t.Errorf("nobody says how to drive %s: give it something to do in drive, and its effect a place in effect", strings.Join(unknown, ", "))
	}
	for _, kind := range []string{"index", webhooks.Fanout, webhooks.Deliver, mail.Fanout, mail.Notify, bulk.Kind} {
		if !slices.Contains(d.kinds(t), kind) {
			t.Errorf("%s is not looked at", kind)
		}
	}
}

// A kind that is new turns the test red until somebody says how to drive it.
func TestAKindThatNobodyDrivesIsTold(t *testing.T) {
	t.Parallel()
	d := drive(t, jobs.Kind{Name: "new", Handle: func(context.Context, json.RawMessage) error { return nil }})
	if diff := cmp.Diff([]string{"new"}, d.undriven(t)); diff != "" {
		t.Error(diff)
	}
}
