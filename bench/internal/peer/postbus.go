package peer

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/bench/internal/rig"
	"github.com/postbus/postbus/events"
)

func postbusPlain() System {
	return System{
		Name: "postbus", open: openPostbus(0),
		Setup: Setup{Title: "Postbus", How: "a job per event and subscriber; 100 workers, else the defaults", Durable: true},
	}
}

func postbusWide() System {
	return System{
		Name: "postbus_wide", open: openPostbus(1000),
		Setup: Setup{
			Title: "Postbus, wide jobs", How: "Subscription.Batch 1000: a job per subscriber and pass, a job of its own for an event that fails; 100 workers, else the defaults",
			Durable: true,
		},
	}
}

type bus struct {
	db          *rig.Database
	subscribers int
	batch       int
	recorder    events.Recorder
}

func openPostbus(batch int) func(context.Context, *rig.Database, int) (Instance, error) {
	return func(ctx context.Context, db *rig.Database, subscribers int) (Instance, error) {
		b := &bus{db: db, subscribers: subscribers, batch: batch}
		made, err := b.make(ctx, func(int, int) {})
		if err != nil {
			return nil, err
		}
		b.recorder = made.Recorder()
		return b, made.Migrate(ctx)
	}
}

func (b *bus) make(ctx context.Context, handled Handled) (*postbus.Bus, error) {
	pool, err := b.db.NewPool(ctx, conns)
	if err != nil {
		return nil, err
	}
	cfg := postbus.Config{
		App: app, Types: []events.Type{{Name: EventType}}, Log: slog.New(slog.DiscardHandler), Queues: map[string]int{"default": 100},
	}
	for s := range b.subscribers {
		cfg.Subscriptions = append(cfg.Subscriptions, events.Subscription{
			Name: subscriber(s), Types: []string{EventType}, Batch: b.batch,
			Handle: func(_ context.Context, e events.Event) error {
				handled(s, numberOf(e.Data))
				return nil
			},
		})
	}
	return postbus.New(pool, cfg)
}

func (b *bus) Record(ctx context.Context, tx pgx.Tx, n int, data []byte) error {
	return b.recorder.With(tx).Record(ctx, owner, EventType, strconv.Itoa(n), json.RawMessage(data))
}

func (b *bus) Start(ctx context.Context, handled Handled) (func(context.Context) error, error) {
	made, err := b.make(ctx, handled)
	if err != nil {
		return nil, err
	}
	return made.Stop, made.Start(ctx)
}
