package tracing_test

import (
	"context"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/postbus/postbus/internal/tracing"
)

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	stored  = "00-" + traceID + "-00f067aa0ba902b7-01"
)

// What is no traceparent is treated as none.
func TestClean(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		stored:                   stored,
		stored[:53] + "00":       stored[:53] + "00", // not sampled
		stored[:53] + "03":       stored[:53] + "03", // sampled, of a random id
		"01" + stored[2:]:        stored,             // a later version
		"cc" + stored[2:] + "-x": stored,
		"cc" + stored[2:] + "-\r\nAuthorization: Basic eA==": stored,

		"":                          "",
		"garbage":                   "",
		stored + " ":                "",
		stored + "-x":               "",
		stored + "\r\nX: y":         "",
		stored[:54]:                 "",
		stored[:53] + "ff":          "",
		"ff" + stored[2:]:           "",
		strings.ToUpper(stored):     "",
		strings.Repeat("0", 55):     "",
		strings.Repeat("-", 55):     "",
		strings.Repeat("é", 55):     "",
		strings.Repeat("0", 10<<20): "",
		"01" + stored[2:] + "-" + strings.Repeat("x", 10<<20):             "",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01":         "",
		"00-" + traceID + "-0000000000000000-01":                          "",
		"00-" + traceID + "-00f067aa0ba902b7-01, 00-" + traceID + "-1-01": "",
	} {
		if got := tracing.Clean(given); got != want {
			t.Errorf("%.80q is carried on as %q, want %q", given, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add(stored)
	f.Add("cc" + stored[2:] + "-\x00")
	f.Fuzz(func(t *testing.T, given string) {
		got := tracing.Clean(given)
		if got == "" {
			return
		}
		if len(got) != len(stored) || strings.Trim(got, "0123456789abcdef-") != "" || tracing.Clean(got) != got {
			t.Errorf("%q is carried on as %q", given, got)
		}
	})
}

// A nil Tracer makes no span and allocates nothing, and the traceparent that stands is carried on as it is.
func TestOffAllocatesNothing(t *testing.T) {
	tracer, ctx := tracing.New(nil), t.Context()
	run, request := tracing.Run{ID: "1", Kind: "k", Queue: "q"}, tracing.Request{EventID: "e"}

	n := testing.AllocsPerRun(100, func() {
		_, span := tracer.Record(ctx, "note.changed")
		span.EndRecord("id", "failed")
		tracer.FanOut(ctx, "", "note.changed", "id").EndFanOut(1, "")
		_, span = tracer.Job(ctx, "", run)
		span.EndJob("failed", "failed")
		_, span = tracer.Request(ctx, "", request)
		span.EndRequest(500, "500")
		_, _, _ = tracing.Of(ctx), tracing.Detach(ctx), tracing.Join(ctx, "")
	})
	if n != 0 {
		t.Errorf("it allocates %v times", n)
	}
	if got := tracer.FanOut(ctx, stored, "t", "id").Traceparent(); got != stored {
		t.Errorf("a fan-out carries %q on", got)
	}
	if _, span := tracer.Request(ctx, stored, request); span.Traceparent() != stored {
		t.Errorf("a request sends %q", span.Traceparent())
	}
	if _, span := tracer.Record(tracing.Join(ctx, stored), "t"); span.Traceparent() != stored {
		t.Errorf("an event is recorded with %q", span.Traceparent())
	}
	if inside, _ := tracer.Job(ctx, stored, run); tracing.Of(inside) != stored {
		t.Errorf("a job runs in %q", tracing.Of(inside))
	}
}

// Only Record begins a trace of its own.
func TestNothingElseBeginsATrace(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	tracer, ctx := tracing.New(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))), t.Context()
	for _, none := range []string{"", "garbage", stored + "-x"} {
		tracer.FanOut(ctx, none, "t", "id").EndFanOut(1, "")
		_, span := tracer.Job(ctx, none, tracing.Run{})
		span.EndJob("completed", "")
		_, span = tracer.Request(ctx, none, tracing.Request{})
		span.EndRequest(200, "")
		if span.Traceparent() != "" {
			t.Errorf("%q is sent as %q", none, span.Traceparent())
		}
	}
	if n := len(spans.Started()); n != 0 {
		t.Errorf("%d spans begin without a trace", n)
	}
	_, span := tracer.Record(ctx, "t")
	span.EndRecord("", "refused")
	ended := spans.Ended()
	if len(ended) != 1 || ended[0].Parent().IsValid() || ended[0].Status().Code != codes.Error || ended[0].Status().Description != "refused" {
		t.Errorf("recording made %+v", ended)
	}
	if !strings.Contains(span.Traceparent(), ended[0].SpanContext().TraceID().String()) {
		t.Errorf("it carries %q on", span.Traceparent())
	}
}

// A parent that is not sampled keeps what follows unsampled, and its id goes on.
func TestUnsampledGoesOn(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	tracer := tracing.New(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample()))))
	_, span := tracer.Request(t.Context(), stored[:53]+"00", tracing.Request{})
	span.EndRequest(200, "")
	if got := span.Traceparent(); !strings.HasPrefix(got, "00-"+traceID) || !strings.HasSuffix(got, "-00") {
		t.Errorf("%q is sent", got)
	}
	if n := len(spans.Ended()); n != 0 {
		t.Errorf("%d spans are sampled", n)
	}
}

// A provider that does nothing carries the trace on.
func TestNoopProvider(t *testing.T) {
	t.Parallel()
	tracer := tracing.New(noop.NewTracerProvider())
	if _, span := tracer.Request(t.Context(), stored, tracing.Request{}); span.Traceparent() != stored {
		t.Errorf("%q is sent", span.Traceparent())
	}
	if _, span := tracer.Record(t.Context(), "t"); span.Traceparent() != "" {
		t.Errorf("%q is recorded", span.Traceparent())
	}
}

func TestDetach(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx := context.WithValue(tracing.Join(t.Context(), stored), key{}, 1)
	if got := tracing.Detach(ctx); tracing.Of(got) != "" || got.Value(key{}) != 1 || trace.SpanFromContext(got).IsRecording() {
		t.Errorf("it is still in %q", tracing.Of(got))
	}
}

// What an event without a trace costs where nothing is traced, and what one costs that carries a trace on.
func BenchmarkOff(b *testing.B) {
	var tracer *tracing.Tracer
	for _, c := range []struct{ name, stored string }{{"none", ""}, {"carried", stored}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, span := tracer.Record(b.Context(), "t")
				span.EndRecord("id", "")
				tracer.FanOut(b.Context(), c.stored, "t", "id").EndFanOut(1, "")
			}
		})
	}
}
