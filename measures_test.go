package postbus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/postbustest"
	"github.com/postbus/postbus/webhooks"
)

// counted is the sum of a series over all minutes: how many, and how many of them have a latency.
func counted(t testing.TB, pool *pgxpool.Pool, series, label string) (n, timed int64) {
	t.Helper()
	err := pool.QueryRow(context.Background(), `select coalesce(sum(n), 0)::bigint,
		coalesce(sum(b00+b01+b02+b03+b04+b05+b06+b07+b08+b09+b10+b11+b12+b13+b14+b15+b16), 0)::bigint
		from postbus.stats where series = $1 and label = $2`, series, label).Scan(&n, &timed)
	if err != nil {
		t.Fatal(err)
	}
	return n, timed
}

// fates are kinds whose runs end in every way there is.
func fates(begun chan<- struct{}) []jobs.Kind {
	var flaky, sleepy atomic.Int64
	return []jobs.Kind{
		{Name: "fate.good", Handle: func(context.Context, json.RawMessage) error { return nil }},
		{Name: "fate.bad", Handle: func(context.Context, json.RawMessage) error { return jobs.Discard(errors.New("no")) }},
		{
			Name: "fate.flaky", MaxAttempts: 10, Backoff: func(int) time.Duration { return time.Millisecond },
			Handle: func(context.Context, json.RawMessage) error {
				if flaky.Add(1) <= 3 {
					return errors.New("not yet")
				}
				return nil
			},
		},
		{Name: "fate.sleepy", Handle: func(context.Context, json.RawMessage) error {
			if sleepy.Add(1) <= 2 {
				return jobs.Snooze(time.Millisecond)
			}
			return nil
		}},
		{Name: "fate.long", Handle: func(ctx context.Context, _ json.RawMessage) error {
			begun <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}},
	}
}

// Promise: when the processes have stopped, the counts of what they did are exact, whoever recorded and whichever process worked.
func TestStatsAddUp(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	if _, err := pool.Exec(t.Context(), raiseFor); err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{}, 1)
	cfg := postbus.Config{Subscriptions: []events.Subscription{to("index", ignore)}, Kinds: fates(begun)}
	first, second := startBus(t, pool, cfg), startBus(t, pool, cfg)
	for i := range 20 {
		recordAll(t, pool, first.Recorder(), 15, numbered(fmt.Sprint("note-", i, "-")))
	}
	mustExec(t, pool, `select postbus.record('owner', 'note.changed', 'sql-' || i, '{}') from generate_series(1, 50) i`)
	recordAll(t, pool, second.Recorder(), 1, func(int) string { return "bad" })
	for _, kind := range fates(nil) {
		for range map[string]int{"fate.good": 40, "fate.bad": 7, "fate.flaky": 1, "fate.sleepy": 1, "fate.long": 1}[kind.Name] {
			if _, err := first.Jobs().Enqueue(t.Context(), kind.Name, struct{}{}, jobs.EnqueueOpts{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	<-begun
	page, err := first.Inspector().List(t.Context(), jobs.Filter{Kinds: []string{"fate.long"}})
	if err != nil || len(page.Jobs) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	if _, err := first.Inspector().Cancel(t.Context(), page.Jobs[0].ID); err != nil {
		t.Fatal(err)
	}
	requeueBad(t, pool, first)
	eventually(t, within, pool, int64(0), unfannedSQL)
	eventually(t, within, pool, int64(0), `select count(*) from postbus.river_job where kind ~ '^(fate|index)' and finalized_at is null`)
	for _, bus := range []*postbus.Bus{first, second} {
		if err := bus.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	recorded := one[int64](t, pool, `select count(*) from postbus.events`)
	type row struct{ series, label string }
	want := map[row]int64{
		{"events.recorded", ""}: recorded, {"events.fanned", ""}: recorded,
		{"jobs.completed", "index"}: 351, {"jobs.completed", "fate.good"}: 40, {"jobs.discarded", "fate.bad"}: 7,
		{"jobs.retried", "fate.flaky"}: 3, {"jobs.completed", "fate.flaky"}: 1,
		{"jobs.snoozed", "fate.sleepy"}: 2, {"jobs.completed", "fate.sleepy"}: 1,
		{"jobs.cancelled", "fate.long"}: 1, {"jobs.discarded", "fate.good"}: 0, {"jobs.retried", "fate.bad"}: 0,
		{"jobs.completed", ""}: one[int64](t, pool, `select count(*) from postbus.river_job where state = 'completed'`),
	}
	got := map[row]int64{}
	for r := range want {
		n, timed := counted(t, pool, r.series, r.label)
		if got[r] = n; r.series != "events.recorded" && timed != n {
			t.Errorf("%v: %d of %d have a latency", r, timed, n)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// requeueBad waits until the bad event is set aside, removes the cause and requeues it.
func requeueBad(t *testing.T, pool *pgxpool.Pool, bus *postbus.Bus) {
	t.Helper()
	eventually(t, within, pool, int64(1), `select count(*) from postbus.events where poisoned_at is not null`)
	mustExec(t, pool, `drop trigger refuse on postbus.river_job`)
	bad := one[string](t, pool, `select id::text from postbus.events where subject = 'bad'`)
	if err := bus.Events().Requeue(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
}

// Deliveries are counted by what the database made of them: what failed and is tried again, what came, and what was given up,
// with or without an attempt.
func TestStatsOfDeliveries(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	flaky, gone := postbustest.NewReceiver(t), postbustest.NewReceiver(t)
	flaky.Answer(func(m postbustest.Message) postbustest.Answer {
		if m.N <= 2 {
			return postbustest.Answer{Status: http.StatusInternalServerError}
		}
		return postbustest.Answer{}
	})
	gone.Answer(func(postbustest.Message) postbustest.Answer { return postbustest.Answer{Status: http.StatusGone} })
	// What comes while the endpoint counts as failing waits, here not for long.
	bus := startBus(t, pool, withWebhooks(postbus.Config{Webhooks: &webhooks.Config{FailingWait: 50 * time.Millisecond}}))
	good := endpointTo(t, bus, flaky, webhooks.EndpointSpec{})
	recordAll(t, pool, bus.Recorder(), 10, numbered("note-"))
	deliveries(t, bus, good.Endpoint.ID, webhooks.Delivered, 10)
	endpointTo(t, bus, gone, webhooks.EndpointSpec{})
	recordAll(t, pool, bus.Recorder(), 5, numbered("more-"))
	deliveries(t, bus, good.Endpoint.ID, webhooks.Delivered, 15)
	eventually(t, within, pool, int64(0), `select count(*) from postbus.webhook_deliveries where state = 'pending'`)
	if err := bus.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	discarded := one[int64](t, pool, `select count(*) from postbus.webhook_deliveries where state = 'discarded'`)
	attempted := one[int64](t, pool, `select count(*) from postbus.webhook_attempts where status = 410`)
	for series, want := range map[string][2]int64{
		"deliveries.delivered": {15, 15}, "deliveries.failed": {2, 2}, "deliveries.discarded": {discarded, attempted},
	} {
		if n, timed := counted(t, pool, series, ""); [2]int64{n, timed} != want {
			t.Errorf("%s: %d, %d of them with a latency; want %v", series, n, timed, want)
		}
	}
	if discarded == 0 || attempted == 0 {
		t.Errorf("%d deliveries were discarded after %d attempts, so that nothing is tested", discarded, attempted)
	}
}

// A bus goes on where the table of counts is away, and counts are there when it is back.
func TestStatsAwayHinderNothing(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	mustExec(t, pool, `alter table postbus.stats rename to away`)
	bus := startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{to("index", ignore)}})
	recordAll(t, pool, bus.Recorder(), 10, numbered("note-"))
	eventually(t, within, pool, int64(10), `select count(*) from postbus.river_job where kind = 'index' and state = 'completed'`)
	mustExec(t, pool, `alter table postbus.away rename to stats`)
	if err := bus.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if n, _ := counted(t, pool, "events.fanned", ""); n != 10 {
		t.Errorf("%d events counted, want 10", n)
	}
}

// The gauges show what stands; after Stop they are gone.
func TestGauges(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	reader := sdkmetric.NewManualReader()
	bus := startBus(t, pool, withWebhooks(postbus.Config{
		Kinds: fates(nil), Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
	}))
	if _, err := bus.Jobs().Enqueue(t.Context(), "fate.bad", struct{}{}, jobs.EnqueueOpts{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, within, pool, int64(1), `select count(*) from postbus.river_job where state = 'discarded'`)
	mustExec(t, pool, `insert into postbus.events (type, owner_id, subject, occurred_at, next_attempt_at)
		values ('note.changed', 'owner', 'late', now() - interval '6 minutes', now() + interval '1 hour')`,
		`insert into postbus.events (type, owner_id, subject, poisoned_at) values ('note.changed', 'owner', 'bad', now())`)
	got := gauges(t, reader)
	if lag := got["postbus.relay.lag"]; lag < 360 || lag > 600 {
		t.Errorf("the lag is %v s, want 6 minutes", lag)
	}
	for name, want := range map[string]float64{
		"postbus.events.backlog": 1, "postbus.events.poisoned": 1, "postbus.listener.deaf": 0,
		"postbus.jobs.standing kind=fate.bad state=discarded": 1, "postbus.jobs.standing kind=fate.bad state=running": 0,
		"postbus.deliveries.standing state=pending": 0, "postbus.deliveries.standing state=discarded": 0,
		"postbus.alerts.standing name=jobs_discarded": 1, "postbus.alerts.standing name=events_backlog": 1,
	} {
		if is, there := got[name]; !there || is != want {
			t.Errorf("%s is %v (%v), want %v", name, is, there, want)
		}
	}
	if err := bus.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := gauges(t, reader); len(got) != 0 {
		t.Errorf("after Stop there are %v", got)
	}
}

// Old minutes are removed by the clock: the bus runs the pruning, and the minutes of last year go.
func TestStatsArePruned(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{})
	mustExec(t, pool, `insert into postbus.stats
		select 'events.recorded', '', date_trunc('minute', now()) - interval '1 year', 1, 0, 0,0,0,0,0,0, 0,0,0,0,0,0, 0,0,0,0,0`)
	if _, err := bus.Inspector().RunPeriodic(t.Context(), "app", "stats.retention"); err != nil {
		t.Fatal(err)
	}
	eventually(t, within, pool, int64(0), `select count(*) from postbus.stats where minute < now() - interval '31 days'`)
}

// gauges are the gauges that the reader finds, by name and labels.
func gauges(t *testing.T, reader *sdkmetric.ManualReader) map[string]float64 {
	t.Helper()
	var found metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &found); err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	text := func(name string, labels attribute.Set) string {
		for _, label := range labels.ToSlice() {
			name += fmt.Sprintf(" %s=%s", label.Key, label.Value.AsString())
		}
		return name
	}
	for _, scope := range found.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					out[text(m.Name, p.Attributes)] = float64(p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					out[text(m.Name, p.Attributes)] = p.Value
				}
			}
		}
	}
	return out
}
