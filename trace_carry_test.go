package postbus_test

import (
	"context"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/postbustest"
	"github.com/postbus/postbus/webhooks"
)

const storedTrace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// hostileTraces are what SQL callers may store, and what is sent of it where nothing is traced.
func hostileTraces() map[string]string {
	return map[string]string{
		"valid": storedTrace, "later": "01" + storedTrace[2:], "garbage": "garbage", "upper": strings.ToUpper(storedTrace),
		"split": storedTrace + "\r\nX-Injected: yes", "late": "cc" + storedTrace[2:] + "-\r\nX-Injected: yes", "long": strings.Repeat("x", 1<<20),
		"zero": "00-00000000000000000000000000000000-0000000000000000-01", "snow": strings.Repeat("☃", 55), "quote": `'; drop table postbus.events; --`,
		"json": `{"trace":"\u0000"}`, "percent": "%00%0d%0a" + strings.Repeat("%s", 30), "control": "\x01\x7f\x1b[2J" + storedTrace,
	}
}

// Promise: whatever text SQL callers store as a trace, their events are fanned out and delivered, and what is no traceparent is
// not sent. A valid one is sent as it is where nothing is traced, and goes on in the receiver's where something is.
func TestHostileTraces(t *testing.T) {
	t.Parallel()
	for name, tr := range map[string]*traced{"off": nil, "on": new(newTraced())} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, r := testdb.New(t), postbustest.NewReceiver(t)
			cfg := postbus.Config{Subscriptions: []events.Subscription{to("index", ignore)}}
			if tr != nil {
				cfg.Tracer = tr
			}
			bus := startBus(t, pool, withWebhooks(cfg))
			endpointTo(t, bus, r, webhooks.EndpointSpec{})
			hostile := hostileTraces()
			for subject, text := range hostile {
				_, err := pool.Exec(t.Context(), `select set_config('postbus.trace', $1, true), postbus.record('owner', 'note.changed', $2, '{}')`, text, subject)
				if err != nil {
					t.Fatalf("%s: %v", subject, err)
				}
			}
			for _, m := range r.WaitFor(t, len(hostile), within) {
				sent := m.Header.Get("Traceparent")
				switch valid := m.Subject == "valid" || m.Subject == "later" || m.Subject == "late"; {
				case m.Header.Get("X-Injected") != "":
					t.Errorf("%s: a header was injected", m.Subject)
				case !valid && sent != "":
					t.Errorf("%s: %q was sent", m.Subject, sent)
				case valid && tr == nil && sent != storedTrace:
					t.Errorf("%s: %q was sent, want %q", m.Subject, sent, storedTrace)
				case valid && tr != nil && (sent == storedTrace || sent[:35] != storedTrace[:35]):
					t.Errorf("%s: %q was sent, want another span of the same trace", m.Subject, sent)
				}
			}
			eventually(t, within, pool, int64(len(hostile)), `select count(*) from postbus.river_job where kind = 'index' and state = 'completed'`)
			if n := one[int64](t, pool, `select count(*) from postbus.river_job where length(metadata->>'trace') <> 55`); n != 0 {
				t.Errorf("%d jobs carry what is no traceparent", n)
			}
			if tr != nil {
				tr.wait(t, "postbus.fanout", 3)
				for _, s := range tr.spans.Ended() {
					if s.SpanContext().TraceID().String() != storedTrace[3:35] {
						t.Errorf("%s is in a trace of its own", s.Name())
					}
				}
			}
		})
	}
}

// Without a Tracer the application's own trace is stored and carried on: to the handler, and to what the handler records and
// enqueues. Config.Trace has the last word on what is stored.
func TestTraceIsCarriedWithoutATracer(t *testing.T) {
	t.Parallel()
	pool, app := testdb.New(t), newTraced()
	ctx, span := app.Tracer("app").Start(t.Context(), "rename a note")
	defer span.End()
	want := "00-" + span.SpanContext().TraceID().String() + "-" + span.SpanContext().SpanID().String() + "-01"

	var bus *postbus.Bus
	index := func(ctx context.Context, e events.Event) error {
		if !trace.SpanContextFromContext(ctx).IsRemote() {
			t.Error("the handler's trace is not the event's")
		}
		if e.Subject == "again" {
			return nil
		}
		return bus.Recorder().Record(ctx, e.OwnerID, e.Type, "again", nil)
	}
	bus = startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{to("index", index)}})
	recordIn(ctx, t, pool, bus.Recorder(), "note-1", `{}`)
	if _, err := bus.Jobs().Enqueue(ctx, "elsewhere", struct{}{}, jobs.EnqueueOpts{Queue: "side", MaxAttempts: 1}); err != nil {
		t.Fatal(err)
	}
	eventually(t, within, pool, int64(2), `select count(*) from postbus.river_job where kind = 'index' and state = 'completed'`)
	for _, sql := range []string{`select trace from postbus.events`, `select metadata->>'trace' from postbus.river_job where kind in ('index', 'elsewhere')`} {
		if n := one[int64](t, pool, `select count(*) from (`+sql+`) as t (trace) where trace is distinct from $1`, want); n != 0 {
			t.Errorf("%d of %s are not the application's trace", n, sql)
		}
	}
	if n := one[int64](t, pool, `select count(*) from postbus.events`); n != 2 {
		t.Errorf("%d events, want 2", n)
	}
}

// Promise: Config.Trace has the last word on what is stored, also where something is traced.
func TestConfigTraceWins(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{storedTrace: storedTrace, "": "none"} {
		pool := testdb.New(t)
		bus := startBus(t, pool, postbus.Config{Tracer: newTraced(), Trace: func(context.Context) string { return answer }})
		recordIn(t.Context(), t, pool, bus.Recorder(), "note-1", `{}`)
		if got := one[string](t, pool, `select coalesce(trace, 'none') from postbus.events`); got != want {
			t.Errorf("Config.Trace answers %q and %q is stored", answer, got)
		}
	}
}
