package chaos

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
	"github.com/postbus/postbus/webhooks"
)

const (
	app       = "chaos"
	owner     = "shop"
	placed    = "order.placed"   // recorded by the writer, in Go or in SQL
	captured  = "order.captured" // recorded by triggers
	ledger    = "ledger"         // one job an event
	wide      = "wide"           // wide jobs
	flaky     = "flaky"          // fails at random
	labels    = "labels"         // worked outside, over SQL
	keptFor   = 5 * time.Second
	sealKey   = "k1:a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="
	manyTries = 1000
)

// handlers are the subscriptions that the bus's own processes serve.
var handlers = []string{ledger, wide, flaky}

// busConfig is what every process declares. handle does the work of a subscription.
func busConfig(log *slog.Logger, handle func(name string) func(context.Context, events.Event) error) postbus.Config {
	cfg := postbus.Config{
		App: app, Log: log, Retention: keptFor,
		Types: []events.Type{
			{Name: placed, Subject: "order id", Exposure: events.Webhook},
			{Name: captured, Subject: "order id", Exposure: events.Webhook},
		},
		Captures: []events.Capture{{
			Name: "app.captured", Table: "app.captured", Type: captured, On: []events.Op{events.Insert},
			Owner: "'" + owner + "'", Subject: "it.id::text",
		}},
		Webhooks: &webhooks.Config{
			Keys: []string{sealKey}, Allow: []string{"127.0.0.1"}, Timeout: 2 * time.Second,
			Schedule: hookSchedule(), FailingWait: 500 * time.Millisecond,
		},
		Queues: map[string]int{"default": 8, "webhook": 8, "webhook_failing": 4},
	}
	for _, name := range handlers {
		s := events.Subscription{
			Name: name, Types: []string{"order.*"}, MaxAttempts: manyTries, Timeout: 5 * time.Second,
			Backoff: jobs.Exponential(200*time.Millisecond, 2, 3*time.Second), Handle: handle(name),
		}
		if name == wide {
			s.Batch = 50
		}
		cfg.Subscriptions = append(cfg.Subscriptions, s)
	}
	return cfg
}

// hookSchedule is as many tries as there may be, a second or two apart: no delivery may be given up.
func hookSchedule() []time.Duration {
	all := make([]time.Duration, 100)
	for i := range all {
		all[i] = min(time.Duration(i+1)*300*time.Millisecond, 3*time.Second)
	}
	return all
}

// runBus is the process of the role bus: it never ends well.
func runBus(ctx context.Context, spec childSpec) error {
	pool, err := pgxpool.New(ctx, spec.URL)
	if err != nil {
		return err
	}
	h := &hand{pool: pool, process: spec.Name, seed: spec.Seed}
	bus, err := postbus.New(pool, busConfig(slog.Default(), h.handle))
	if err != nil {
		return err
	}
	if err := bus.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return errors.New("the context ended")
}

// hand handles events: each gets a row in app.handled, which counts, and one for every run in app.runs.
type hand struct {
	pool    *pgxpool.Pool
	process string
	seed    uint64
}

func (h *hand) handle(name string) func(context.Context, events.Event) error {
	return func(ctx context.Context, e events.Event) error {
		chance := 1.0
		if name == flaky {
			chance = rand.Float64() // processes die in between: no seed could foretell which try fails
		}
		switch {
		case chance < 0.05:
			return errors.New("failed at random")
		case chance < 0.07:
			panic("panicked at random")
		case chance < 0.10:
			return jobs.Snooze(300 * time.Millisecond)
		}
		if err := h.note(ctx, name, e); err != nil {
			return err
		}
		if chance < 0.15 {
			return errors.New("failed at random, after its work")
		}
		return nil
	}
}

func (h *hand) note(ctx context.Context, name string, e events.Event) error {
	err := pg.InTx(ctx, h.pool, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `insert into app.handled as h (event_id, subscriber, subject) values ($1, $2, $3)
			on conflict (event_id, subscriber) do update set times = h.times + 1`, e.ID, name, e.Subject)
		if err == nil {
			_, err = tx.Exec(ctx, `insert into app.runs (event_id, subscriber, process) values ($1, $2, $3)`, e.ID, name, h.process)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("note that %s handled: %w", name, err)
	}
	return nil
}
