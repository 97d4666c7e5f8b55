package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/rig"
	"github.com/postbus/postbus/internal/seed"
	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/webhooks"
)

// readOperations are those of the registry that read; each is a figure. A run says which of them it has no inputs for.
var readOperations = []string{
	"accounts.list", "alerts.history", "alerts.list", "audit.list", "events.get", "events.get_replay", "events.list", "events.replays",
	"events.subscriptions", "events.types", "instances.list", "stats.series", "system.status", "tasks.bulk_act", "tasks.bulk_acts", "tasks.get", "tasks.kinds", "tasks.list",
	"tasks.overview", "tasks.periodic", "tasks.queues", "tokens.list", "webhooks.account", "webhooks.attempts",
	"webhooks.deliveries", "webhooks.delivery", "webhooks.event_types", "webhooks.get", "webhooks.list", "webhooks.public_keys",
}

// mostRead is the target of an operation's p95, fewestReads how many calls are made of each.
const (
	mostRead    = 150
	fewestReads = 60
)

func readFigure(operation string) string { return "read_" + strings.ReplaceAll(operation, ".", "_") }

// reads measures every operation that reads, through the registry in this process, and every view of the panel, on a long history: 10 M jobs and 10 M events
// with FULL=1, else 100,000.
func reads() group {
	g := group{name: "reads"}
	for _, operation := range readOperations {
		g.figures = append(g.figures, readFigure(operation))
	}
	for _, view := range views() {
		g.figures = append(g.figures, view.figures()...)
	}
	g.measure = func(ctx context.Context, b *bench, db *rig.Database) ([]figure.Figure, error) {
		size := 100_000
		if full := os.Getenv("FULL"); full != "" && full != "0" {
			size = 10_000_000
		}
		if n := os.Getenv("ROWS"); n != "" {
			if _, err := fmt.Sscan(n, &size); err != nil {
				return nil, fmt.Errorf("ROWS=%s: %w", n, err)
			}
		}
		registry, err := filled(ctx, b, db, size)
		if err != nil {
			return nil, err
		}
		var figures []figure.Figure
		for _, part := range []struct {
			prefix  string
			measure func(context.Context, *rig.Database, *ops.Registry, int) ([]figure.Figure, error)
		}{{"read_", b.readAll}, {"view_", b.viewAll}} {
			if !slices.ContainsFunc(g.figures, func(name string) bool { return strings.HasPrefix(name, part.prefix) && b.match.MatchString(name) }) {
				continue
			}
			measured, err := part.measure(ctx, db, registry, size)
			if err != nil {
				return nil, err
			}
			figures = append(figures, measured...)
		}
		return figures, nil
	}
	return g
}

// filled is a registry on a database with the history.
func filled(ctx context.Context, b *bench, db *rig.Database, size int) (*ops.Registry, error) {
	bus, err := newBus(db.Pool, postbus.Config{Webhooks: &webhooks.Config{Keys: []string{readKey}}})
	if err != nil {
		return nil, err
	}
	if err := bus.Migrate(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := seed.Fill(ctx, db.Pool, 0, size); err != nil {
		return nil, err
	}
	b.say("%d jobs and %d events made in %.0f s", size, size, time.Since(began).Seconds())
	return ops.New(ops.Deps{
		Pool: db.Pool, Events: bus.Events(), Runtime: bus.Runtime(), Webhooks: bus.Webhooks(), Alerts: bus.Alerts, Version: "bench",
	})
}

// readAll calls every operation with every kind of input and other values each time, and judges the p95.
func (b *bench) readAll(ctx context.Context, db *rig.Database, registry *ops.Registry, size int) (figures []figure.Figure, err error) {
	took := map[string][]float64{}
	for variation := 0; variation < fewestReads; variation++ {
		calls, err := seed.Calls(ctx, db.Pool, variation)
		if err != nil {
			return nil, err
		}
		for _, operation := range readOperations {
			if variation > 5 && len(took[operation]) >= fewestReads {
				continue // lists have many inputs
			}
			for _, call := range calls[operation] {
				began := time.Now()
				if _, err := registry.Do(ctx, ops.Request{Operation: operation, Who: reader, Face: ops.CLI, Input: call.Input}); err != nil {
					return nil, fmt.Errorf("%s %s: %w", operation, call.Input, err)
				}
				took[operation] = append(took[operation], time.Since(began).Seconds()*1000)
			}
		}
	}
	for _, operation := range readOperations {
		values := took[operation]
		if len(values) == 0 {
			return nil, fmt.Errorf("package seed has no input for %s", operation)
		}
		p50, p95, p99 := figure.Percentile(values, 50), figure.Percentile(values, 95), figure.Percentile(values, 99)
		b.say("%-24s p50 %7.1f ms  p95 %7.1f ms  p99 %7.1f ms  most %7.1f ms, %d calls", operation, p50, p95, p99, slices.Max(values), len(values))
		figures = append(figures, figure.Of(figure.Measured{
			Name: readFigure(operation), Unit: "ms", Target: figure.AtMost(mostRead), Values: []float64{p95},
			Sides:  map[string][]float64{"p50": {p50}, "p95": {p95}, "p99": {p99}},
			Note:   fmt.Sprintf("p95 of %d calls on %d jobs and %d events", len(values), size, size),
			Enough: size >= 10_000_000,
		}))
	}
	return figures, nil
}

// readKey seals nothing: no secret is made.
const readKey = "k1:a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="

// reader may read everything.
var reader = ops.Identity{Name: "account:bench", Scopes: []ops.Access{ops.Admin}}
