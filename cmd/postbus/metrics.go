package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

const (
	// scrapesAtOnce is how many answers of /metrics are made at a time; who comes beyond that gets 503.
	scrapesAtOnce = 4
	// scrapeMayTake bounds an answer of /metrics.
	scrapeMayTake = 10 * time.Second
	// metricsMayTake bounds the last push at the end, where there is one.
	metricsMayTake = 2 * time.Second
)

// metrics are what the process tells of itself.
type metrics struct {
	provider *sdkmetric.MeterProvider
	handler  http.Handler // of /metrics
	log      *slog.Logger
}

// newMetrics makes a meter that /metrics shows in the format of Prometheus, beside the Go runtime's and the process's own numbers.
// more are a resource, views, and readers that push.
func newMetrics(log *slog.Logger, more ...sdkmetric.Option) (*metrics, error) {
	registry := prometheus.NewRegistry()
	reader, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo(), otelprometheus.WithoutTargetInfo())
	err = errors.Join(err,
		registry.Register(collectors.NewGoCollector()),
		registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})))
	if err != nil {
		return nil, fmt.Errorf("make the metrics: %w", err)
	}
	return &metrics{
		provider: sdkmetric.NewMeterProvider(append([]sdkmetric.Option{sdkmetric.WithReader(reader)}, more...)...),
		handler: promhttp.HandlerFor(registry, promhttp.HandlerOpts{
			ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
			MaxRequestsInFlight: scrapesAtOnce, Timeout: scrapeMayTake,
		}),
		log: log,
	}, nil
}

// stop pushes what has not been, to whom metrics are pushed.
func (m *metrics) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), metricsMayTake)
	defer cancel()
	if err := m.provider.Shutdown(ctx); err != nil {
		m.log.WarnContext(ctx, "the last metrics could not be pushed", "error", err)
	}
}
