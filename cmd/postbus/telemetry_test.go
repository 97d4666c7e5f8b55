package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Spans leave as OTLP over HTTP in protobuf, from a resource that says who sends; the address's user is an Authorization header.
func TestTracesLeave(t *testing.T) {
	t.Parallel()
	requests := make(chan *http.Request, 1)
	bodies := make(chan []byte, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- r
		bodies <- body
	}))
	t.Cleanup(server.Close)
	var cfg settings
	if err := setCollector(&cfg, strings.Replace(server.URL, "http://", "http://me:s3cret@", 1)+"/base"); err != nil {
		t.Fatal(err)
	}
	cfg.traceRatio = 1
	traces, err := newTraces(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, span := traces.Tracer("test").Start(t.Context(), "postbus.record")
	span.End()
	stopTraces(traces, slog.New(slog.DiscardHandler))

	r := <-requests
	if user, password, _ := r.BasicAuth(); r.URL.Path != "/base/v1/traces" || user != "me" || password != "s3cret" {
		t.Errorf("it was sent to %s by %q", r.URL.Path, user)
	}
	var sent collectortrace.ExportTraceServiceRequest
	if err := proto.Unmarshal(<-bodies, &sent); err != nil {
		t.Fatal(err)
	}
	about := map[string]string{}
	for _, a := range sent.GetResourceSpans()[0].GetResource().GetAttributes() {
		about[a.GetKey()] = a.GetValue().GetStringValue()
	}
	if about["service.name"] != app || about["service.version"] != version() || about["service.instance.id"] == "" {
		t.Errorf("the resource is %v", about)
	}
	if got := sent.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()[0].GetName(); got != "postbus.record" {
		t.Errorf("the span is %q", got)
	}
}

// Promise: a collector that hangs neither slows whoever ends a span nor holds up the end for longer than the flush may take.
func TestCollectorThatHangs(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	traces, err := newTraces(t.Context(), settings{otlpEndpoint: server.URL, traceRatio: 1})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for range 50_000 { // far more than its queue holds
		_, span := traces.Tracer("test").Start(context.Background(), "postbus.record")
		span.End()
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("50,000 spans took %s", took)
	}
	began = time.Now()
	stopTraces(traces, slog.New(slog.DiscardHandler))
	if took := time.Since(began); took > flushMayTake+5*time.Second {
		t.Errorf("the end took %s", took)
	}
}

// Nothing is made where no collector is named, and a bad address is refused without being shown.
func TestTelemetryOff(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"} {
		t.Setenv(name, "")
	}
	traces, err := newTraces(t.Context(), settings{})
	reader, again := otlpReader(t.Context(), settings{})
	if traces != nil || reader != nil || err != nil || again != nil {
		t.Errorf("without a collector there are %v, %v (%v, %v)", traces, reader, err, again)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:1/v1/traces")
	if traces, err = newTraces(t.Context(), settings{}); traces == nil || err != nil {
		t.Errorf("the standard variable is not heard: %v", err)
	}
	stopTraces(traces, slog.New(slog.DiscardHandler))
	for _, bad := range []string{"s3cret", "ftp://s3cret", "http://", "http://x?s3cret=1", "http://s3cret\x7f"} {
		if err := setCollector(&settings{}, bad); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, bad := range []string{"", "-1", "1.1", "NaN", "x"} {
		if setRatio(&settings{}, bad) == nil {
			t.Errorf("the ratio %q is taken", bad)
		}
	}
}
