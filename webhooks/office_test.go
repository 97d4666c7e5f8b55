package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/pg"
)

const (
	keyOne = "one:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
	keyTwo = "two:AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="

	exposedType  = "note.changed"
	internalType = "note.draft_saved"
	owner        = "owner"
)

// office is a service on a database of its own in which nothing runs: tests move deliveries by hand.
type office struct {
	*Service
	t    testing.TB
	pool *pgxpool.Pool
}

// newOffice makes one on a fresh database; change may be nil.
func newOffice(t testing.TB, change func(*Config)) *office {
	t.Helper()
	return officeOn(t, testdb.New(t), change)
}

func officeOn(t testing.TB, pool *pgxpool.Pool, change func(*Config)) *office {
	t.Helper()
	log := testdb.Log()
	cfg := Config{Keys: []string{keyOne}, Log: log}
	if change != nil {
		change(&cfg)
	}
	s, err := New(pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	bus, err := events.New(pool, events.Config{
		App: "app", Log: log, Subscriptions: s.Subscriptions(),
		Types: []events.Type{{Name: exposedType, Exposure: events.Webhook}, {Name: internalType}},
	})
	if err != nil {
		t.Fatal(err)
	}
	bus.AddReplayTarget(s.ReplayTarget())
	runtime, err := river.New(pool, river.Config{App: "app", Kinds: append(bus.Kinds(), s.Kinds()...), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	bus.Bind(runtime)
	s.Bind(bus, runtime)
	if err := bus.Declare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &office{Service: s, t: t, pool: pool}
}

// spec is an endpoint's that takes everything; each change alters it.
func spec(changes ...func(*EndpointSpec)) EndpointSpec {
	s := EndpointSpec{OwnerID: owner, URL: "https://example.com/hook", Types: []string{"*"}}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func ordered(s *EndpointSpec) { s.Ordered = true }

func (o *office) endpoint(changes ...func(*EndpointSpec)) Created {
	o.t.Helper()
	created, err := o.Create(o.t.Context(), spec(changes...))
	if err != nil {
		o.t.Fatal(err)
	}
	return created
}

func (o *office) exec(sql string, args ...any) {
	o.t.Helper()
	if _, err := o.pool.Exec(o.t.Context(), sql, args...); err != nil {
		o.t.Fatalf("%s: %v", sql, err)
	}
}

func (o *office) count(sql string, args ...any) int {
	o.t.Helper()
	return one[int](o.t, o.pool, sql, args...)
}

func one[T any](t testing.TB, db pg.DBTX, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := db.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// record records an event as the relay leaves it: with a job of webhook.fanout that has not run.
func (o *office) record(subject string, data string) events.Event {
	o.t.Helper()
	return o.recordAs(exposedType, subject, data)
}

func (o *office) recordAs(typ, subject, data string) events.Event {
	o.t.Helper()
	var id string
	err := pg.InTx(o.t.Context(), o.pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		id, err = o.bus.RecordReturning(ctx, tx, owner, typ, subject, json.RawMessage(data))
		return err
	})
	if err != nil {
		o.t.Fatal(err)
	}
	o.exec(`update postbus.events set fanned_out_at = clock_timestamp(), fanout = $2 where id = $1`, id,
		map[bool]string{true: `{"webhook.fanout": "1"}`, false: `{}`}[typ == exposedType]) // webhooks hear of exposed types only
	event, err := o.bus.Get(o.t.Context(), id)
	if err != nil {
		o.t.Fatal(err)
	}
	return event.Event
}

// fan records an event, fans it out, and answers its deliveries, the oldest endpoint's first.
func (o *office) fan(subject string) (events.Event, []Delivery) {
	o.t.Helper()
	event := o.record(subject, `{}`)
	if err := o.fanOut(o.t.Context(), event); err != nil {
		o.t.Fatal(err)
	}
	return event, o.deliveries(DeliveryFilter{EventID: event.ID})
}

// one delivery of a fresh event.
func (o *office) delivery(subject string) Delivery {
	o.t.Helper()
	_, ds := o.fan(subject)
	if len(ds) != 1 {
		o.t.Fatalf("%d deliveries, want 1", len(ds))
	}
	return ds[0]
}

func (o *office) deliveries(f DeliveryFilter) []Delivery {
	o.t.Helper()
	page, err := o.Deliveries(o.t.Context(), f)
	if err != nil {
		o.t.Fatal(err)
	}
	return page.Deliveries
}

func (o *office) again(d Delivery) Delivery {
	o.t.Helper()
	d, err := o.Delivery(o.t.Context(), d.ID)
	if err != nil {
		o.t.Fatal(err)
	}
	return d
}

// settleAs ends a delivery as a lane would.
func (o *office) settleAs(d Delivery, state DeliveryState, reason string) {
	o.t.Helper()
	o.exec(`update postbus.webhook_deliveries set state = $2, reason = $3, next_attempt_at = null, behind = false,
		attempts = 3, tries = 3, settled_at = clock_timestamp() where id = $1`, d.ID, string(state), reason)
}

// putInFlight gives the delivery to a slot whose lease ends after the time.
func (o *office) putInFlight(d Delivery, slot int, lease string) {
	o.t.Helper()
	o.exec(`insert into postbus.webhook_slots (endpoint_id, slot, delivery_id, lease, lease_until)
		values ($1, $2, $3, gen_random_uuid(), clock_timestamp() + $4::text::interval)
		on conflict (endpoint_id, slot) do update set delivery_id = excluded.delivery_id, lease = excluded.lease,
		lease_until = excluded.lease_until`, d.EndpointID, slot, d.ID, lease)
}

// places answers subject and seq order of what is pending and may go, and of what stands behind.
func (o *office) places(endpointID string) (front, behind string) {
	o.t.Helper()
	return one[string](o.t, o.pool, placesSQL, endpointID, false), one[string](o.t, o.pool, placesSQL, endpointID, true)
}

const placesSQL = `select coalesce(string_agg(subject || ':' || id, ' ' order by id), '') from postbus.webhook_deliveries
	where endpoint_id = $1 and state = 'pending' and behind = $2`

func at(subject string, d Delivery) string { return fmt.Sprintf("%s:%s", subject, d.ID) }
