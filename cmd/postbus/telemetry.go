package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	opscli "github.com/postbus/postbus/ops/cli"
)

// flushMayTake is how long the last spans may take to leave at the end.
const flushMayTake = 2 * time.Second

// collector is where OpenTelemetry goes: the setting, else the standard variables, which the exporters read themselves.
type collector struct {
	base *url.URL // nil where the variables say it
}

// collectorFor answers where the signal, TRACES or METRICS, goes, and whether it goes anywhere.
func collectorFor(cfg settings, signal string) (collector, bool) {
	if cfg.otlpEndpoint != "" {
		base, _ := url.Parse(cfg.otlpEndpoint) // checked when it was set
		return collector{base}, true
	}
	return collector{}, os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
}

// url is the signal's address below the base, without who we are.
func (c collector) url(signal string) string {
	u := *c.base.JoinPath("v1", signal)
	u.User = nil
	return u.String()
}

// headers say who we are, where the address has it.
func (c collector) headers() map[string]string {
	if c.base.User == nil {
		return nil
	}
	password, _ := c.base.User.Password()
	return map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(c.base.User.Username()+":"+password))}
}

// newTraces makes what sends spans; nil where they go nowhere. Whoever ends a span never waits: what a collector that is slow or
// away does not take in time is dropped.
func newTraces(ctx context.Context, cfg settings) (*sdktrace.TracerProvider, error) {
	to, ok := collectorFor(cfg, "TRACES")
	if !ok {
		return nil, nil
	}
	var options []otlptracehttp.Option
	if to.base != nil {
		options = append(options, otlptracehttp.WithEndpointURL(to.url("traces")))
		if headers := to.headers(); headers != nil {
			options = append(options, otlptracehttp.WithHeaders(headers))
		}
	}
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, opscli.Usage(fmt.Errorf("otlp_endpoint: %w", err))
	}
	about, err := aboutProcess(ctx)
	if err != nil {
		return nil, err
	}
	return sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(cfg.traceRatio)))), nil
}

// stopTraces sends the last spans, for a while.
func stopTraces(traces *sdktrace.TracerProvider, log *slog.Logger) {
	if traces == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushMayTake)
	defer cancel()
	if err := traces.Shutdown(ctx); err != nil {
		log.Warn("the last spans have not left", "error", innermost(err))
	}
}

// otlpReader sends metrics now and then; nil where they go nowhere.
func otlpReader(ctx context.Context, cfg settings) (sdkmetric.Reader, error) {
	to, ok := collectorFor(cfg, "METRICS")
	if !ok {
		return nil, nil
	}
	var options []otlpmetrichttp.Option
	if to.base != nil {
		options = append(options, otlpmetrichttp.WithEndpointURL(to.url("metrics")))
		if headers := to.headers(); headers != nil {
			options = append(options, otlpmetrichttp.WithHeaders(headers))
		}
	}
	exporter, err := otlpmetrichttp.New(ctx, options...)
	if err != nil {
		return nil, opscli.Usage(fmt.Errorf("otlp_endpoint: %w", err))
	}
	return sdkmetric.NewPeriodicReader(exporter), nil
}

// pushing are what a meter needs to send metrics to where otlpReader sends them; none where they go nowhere.
func pushing(ctx context.Context, cfg settings) ([]sdkmetric.Option, error) {
	reader, err := otlpReader(ctx, cfg)
	if reader == nil || err != nil {
		return nil, err
	}
	about, err := aboutProcess(ctx)
	return []sdkmetric.Option{sdkmetric.WithReader(reader), sdkmetric.WithResource(about)}, err
}

// aboutProcess says who sends. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES have the last word.
func aboutProcess(ctx context.Context) (*resource.Resource, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	about, err := resource.New(ctx, resource.WithAttributes(
		semconv.ServiceName(app), semconv.ServiceVersion(version()), semconv.ServiceInstanceID(fmt.Sprintf("%s:%d", host, os.Getpid())),
	), resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil {
		return nil, opscli.Usage(fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err))
	}
	return about, nil
}

// setCollector checks an address without showing it.
func setCollector(s *settings, text string) error {
	u, err := url.Parse(text)
	if text != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "") {
		return errors.New("use http://HOST:PORT or https://, with a path where the collector has one")
	}
	s.otlpEndpoint = text
	return nil
}

// showCollector leaves out who we are.
func showCollector(s settings) string {
	u, err := url.Parse(s.otlpEndpoint)
	if err != nil || u.User == nil {
		return s.otlpEndpoint
	}
	u.User = nil
	return u.Scheme + "://" + masked + "@" + u.Host + u.EscapedPath()
}

func setRatio(s *settings, text string) error {
	ratio, err := strconv.ParseFloat(text, 64)
	if err != nil || !(ratio >= 0 && ratio <= 1) {
		return fmt.Errorf("%q is not a number from 0 to 1", text)
	}
	s.traceRatio = ratio
	return nil
}
