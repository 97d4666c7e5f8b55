package postbus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
	"github.com/postbus/postbus/postbustest"
	"github.com/postbus/postbus/webhooks"
)

// traced is a tracer's memory.
type traced struct {
	*sdktrace.TracerProvider
	spans *tracetest.SpanRecorder
}

func newTraced() traced {
	spans := tracetest.NewSpanRecorder()
	return traced{sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)), spans}
}

// wait waits for n ended spans of the name, and answers them in the order of their ends.
func (tr traced) wait(t *testing.T, name string, n int) (named []sdktrace.ReadOnlySpan) {
	t.Helper()
	wait.Eventually(t, within, func() (bool, string) {
		var all []string
		named = nil
		for _, s := range tr.spans.Ended() {
			all = append(all, s.Name())
			if s.Name() == name {
				named = append(named, s)
			}
		}
		return len(named) >= n, fmt.Sprintf("%d spans %q, want %d, among %v", len(named), name, n, all)
	})
	return named
}

// attributeOf is a span's, as text.
func attributeOf(s sdktrace.ReadOnlySpan, key string) string {
	for _, a := range s.Attributes() {
		if string(a.Key) == key {
			return a.Value.String()
		}
	}
	return ""
}

func requireBelow(t *testing.T, child, parent sdktrace.ReadOnlySpan) {
	t.Helper()
	if child.Parent().SpanID() != parent.SpanContext().SpanID() || child.SpanContext().TraceID() != parent.SpanContext().TraceID() {
		t.Errorf("%s is not below %s: its parent is %s of %s", child.Name(), parent.Name(), child.Parent().SpanID(), child.SpanContext().TraceID())
	}
}

func requireAttributes(t *testing.T, s sdktrace.ReadOnlySpan, kind trace.SpanKind, want map[string]string) {
	t.Helper()
	if s.SpanKind() != kind {
		t.Errorf("%s is a %s, want a %s", s.Name(), s.SpanKind(), kind)
	}
	if want["messaging.system"] == "" {
		want["messaging.system"] = "postbus"
	}
	for key, value := range want {
		if got := attributeOf(s, key); got != value {
			t.Errorf("%s: %s is %q, want %q", s.Name(), key, got, value)
		}
	}
}

// chain is an application whose subscriber records an event and makes a job, with a receiver of webhooks.
func chain(t *testing.T, pool *pgxpool.Pool, tr traced, r *postbustest.Receiver) (*postbus.Bus, webhooks.Created) {
	t.Helper()
	var bus *postbus.Bus
	index := func(ctx context.Context, e events.Event) error {
		if _, err := bus.Jobs().Enqueue(ctx, "thumbnail", struct{}{}, jobs.EnqueueOpts{}); err != nil {
			return err
		}
		return bus.Recorder().Record(ctx, e.OwnerID, "index.changed", e.Subject, nil)
	}
	cfg := withWebhooks(quick(postbus.Config{
		Types: []events.Type{
			{Name: noteChanged.Name, Subject: "note id", Exposure: events.Webhook}, {Name: "index.changed", Subject: "note id"},
		},
		Subscriptions: []events.Subscription{to("index", index)},
		Kinds:         []jobs.Kind{{Name: "thumbnail", Handle: func(context.Context, json.RawMessage) error { return nil }}},
		Tracer:        tr,
	}))
	bus, err := postbus.New(pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, boot := newTraced().Tracer("app").Start(t.Context(), "boot")
	defer boot.End()
	if err := bus.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bus.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return bus, endpointTo(t, bus, r, webhooks.EndpointSpec{})
}

// Promise: one trace id from the business span over record, fan-out, jobs and request to the receiver's traceparent, each below
// what caused it. What a handler records and enqueues hangs below its job. The span around Start is nobody's parent.
func TestOneTrace(t *testing.T) {
	t.Parallel()
	pool, tr, r := testdb.New(t), newTraced(), postbustest.NewReceiver(t)
	bus, endpoint := chain(t, pool, tr, r)

	ctx, span := tr.Tracer("app").Start(t.Context(), "rename a note")
	recordIn(ctx, t, pool, bus.Recorder(), "note-1", `{"title":"unspeakable"}`)
	span.End()
	got := r.WaitFor(t, 1, within)[0]

	business := tr.wait(t, "rename a note", 1)[0]
	record := tr.wait(t, "postbus.record", 2)[0]
	fanout := tr.wait(t, "postbus.fanout", 2)[0]
	index, fanHooks := tr.wait(t, "job index", 1)[0], tr.wait(t, "job webhook.fanout", 1)[0]
	again, thumbnail := tr.wait(t, "postbus.record", 2)[1], tr.wait(t, "job thumbnail", 1)[0]
	request := tr.wait(t, "postbus.webhook", 1)[0]
	requireBelow(t, record, business)
	requireBelow(t, fanout, record)
	requireBelow(t, index, fanout)
	requireBelow(t, fanHooks, fanout)
	requireBelow(t, again, index)
	requireBelow(t, thumbnail, index)
	requireBelow(t, tr.wait(t, "postbus.fanout", 2)[1], again)
	requireBelow(t, request, record)
	if want := "00-" + business.SpanContext().TraceID().String() + "-" + request.SpanContext().SpanID().String() + "-01"; got.Header.Get("Traceparent") != want {
		t.Errorf("the receiver got the traceparent %q, want %q", got.Header.Get("Traceparent"), want)
	}

	id := one[string](t, pool, `select id::text from postbus.events where type = 'note.changed'`)
	requireAttributes(t, record, trace.SpanKindProducer, map[string]string{
		"messaging.operation.type": "send", "messaging.destination.name": "note.changed", "messaging.message.id": id,
	})
	requireAttributes(t, fanout, trace.SpanKindProducer, map[string]string{
		"messaging.destination.name": "note.changed", "messaging.message.id": id, "postbus.fanout.jobs": "2",
	})
	requireAttributes(t, index, trace.SpanKindConsumer, map[string]string{
		"messaging.operation.type": "process", "messaging.destination.name": "default", "postbus.job.kind": "index",
		"postbus.job.outcome": "completed", "postbus.attempt": "1", "messaging.message.id": one[string](t, pool, `select id::text from postbus.river_job where kind = 'index'`),
	})
	requireAttributes(t, request, trace.SpanKindClient, map[string]string{
		"messaging.message.id": id, "postbus.endpoint.id": endpoint.ID, "http.response.status_code": "200", "http.request.method": "POST",
		"postbus.attempt": "1",
	})
	for _, s := range tr.spans.Ended() {
		if s.SpanContext().TraceID() != business.SpanContext().TraceID() {
			t.Errorf("%s is in a trace of its own", s.Name())
		}
	}
	requireSecrecy(t, tr, "unspeakable", r.URL)
}

// recordIn records an event about the subject in a transaction.
func recordIn(ctx context.Context, t *testing.T, pool *pgxpool.Pool, rec events.Recorder, subject, data string) {
	t.Helper()
	err := pg.InTx(ctx, pool, func(ctx context.Context, tx pgx.Tx) error {
		return rec.With(tx).Record(ctx, "owner", noteChanged.Name, subject, json.RawMessage(data))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// requireSecrecy wants none of the texts in any span.
func requireSecrecy(t *testing.T, tr traced, secrets ...string) {
	t.Helper()
	for _, s := range tr.spans.Ended() {
		shown := fmt.Sprint(s.Name(), s.Attributes(), s.Events(), s.Status())
		for _, secret := range secrets {
			if strings.Contains(shown, secret) {
				t.Errorf("%s shows %s: %s", s.Name(), secret, shown)
			}
		}
	}
}

// How a run ended is seen in its span, without its error's text. Each attempt has a span below the same fan-out.
func TestTraceOfWhatFails(t *testing.T) {
	t.Parallel()
	pool, tr := testdb.New(t), newTraced()
	var mu sync.Mutex
	ways := []func() error{
		func() error { return errors.New("unspeakable") }, func() error { panic("unspeakable") }, func() error { return jobs.Snooze(0) },
		func() error { return jobs.Discard(errors.New("unspeakable")) },
	}
	sub := to("index", func(context.Context, events.Event) error {
		mu.Lock()
		way := ways[0]
		ways = ways[1:]
		mu.Unlock()
		return way()
	})
	sub.Backoff = func(int) time.Duration { return time.Millisecond }
	bus := startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{sub}, Tracer: tr})
	recordIn(t.Context(), t, pool, bus.Recorder(), "note-1", `{}`)
	runs := tr.wait(t, "job index", 4)
	for i, want := range []struct {
		outcome, fault string
		status         codes.Code
	}{
		{"failed", "failed", codes.Error}, {"failed", "panic", codes.Error}, {"snoozed", "", codes.Unset}, {"discarded", "discarded", codes.Error},
	} {
		requireBelow(t, runs[i], tr.wait(t, "postbus.fanout", 1)[0])
		requireAttributes(t, runs[i], trace.SpanKindConsumer, map[string]string{"postbus.job.outcome": want.outcome, "error.type": want.fault})
		if got := runs[i].Status(); got.Code != want.status {
			t.Errorf("run %d: the status is %v, want %v", i, got, want.status)
		}
	}
	err := bus.Recorder().Record(t.Context(), "owner", "nobody.knows", "s", "unspeakable")
	if !errors.Is(err, events.ErrUndeclaredType) {
		t.Fatal(err)
	}
	refused := tr.wait(t, "postbus.record", 2)[1]
	requireAttributes(t, refused, trace.SpanKindProducer, map[string]string{"error.type": "refused", "messaging.message.id": ""})
	requireSecrecy(t, tr, "unspeakable")
}

// A fan-out that is taken back is a span that failed, and the next one is below the same event.
func TestTraceOfAFanOutThatFails(t *testing.T) {
	t.Parallel()
	pool, tr := testdb.New(t), newTraced()
	if _, err := pool.Exec(t.Context(), raiseFor); err != nil {
		t.Fatal(err)
	}
	bus := startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{to("index", ignore)}, Tracer: tr})
	recordIn(t.Context(), t, pool, bus.Recorder(), "bad", `{}`)
	eventually(t, within, pool, int64(1), `select count(*) from postbus.events where poisoned_at is not null`)
	record := tr.wait(t, "postbus.record", 1)[0]
	for _, s := range tr.wait(t, "postbus.fanout", 5) {
		requireBelow(t, s, record)
		requireAttributes(t, s, trace.SpanKindProducer, map[string]string{"error.type": "failed"})
	}
}

// Each attempt of a webhook has a span of its own, and sends it.
func TestTraceOfARetriedWebhook(t *testing.T) {
	t.Parallel()
	pool, tr, r := testdb.New(t), newTraced(), postbustest.NewReceiver(t)
	r.Answer(func(m postbustest.Message) postbustest.Answer {
		if m.N == 1 {
			return postbustest.Answer{Status: 503}
		}
		return postbustest.Answer{}
	})
	bus := startBus(t, pool, withWebhooks(postbus.Config{Tracer: tr}))
	endpointTo(t, bus, r, webhooks.EndpointSpec{URL: r.URL + "/hook?key=unspeakable"})
	recordIn(t.Context(), t, pool, bus.Recorder(), "note-1", `{}`)
	got, spans := r.WaitFor(t, 2, within), tr.wait(t, "postbus.webhook", 2)
	for i, want := range []map[string]string{
		{"postbus.attempt": "1", "http.response.status_code": "503", "error.type": "503"}, {"postbus.attempt": "2", "http.response.status_code": "200"},
	} {
		requireBelow(t, spans[i], tr.wait(t, "postbus.record", 1)[0])
		requireAttributes(t, spans[i], trace.SpanKindClient, want)
		if !strings.Contains(got[i].Header.Get("Traceparent"), spans[i].SpanContext().SpanID().String()) {
			t.Errorf("attempt %d sent %q", i+1, got[i].Header.Get("Traceparent"))
		}
	}
	requireSecrecy(t, tr, "unspeakable")
}
