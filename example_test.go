package postbus_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/pg"
)

// One write becomes one handled event: record it in the transaction of the change, wait for its job.
func Example() {
	pool, done := testdb.ForExample()
	defer done()
	ctx := context.Background()

	bus, err := postbus.New(pool, postbus.Config{
		App:   "shop",
		Log:   slog.New(slog.DiscardHandler),
		Types: []events.Type{{Name: "order.paid", Subject: "order id"}},
		Subscriptions: []events.Subscription{{
			Name: "shop.receipt", Types: []string{"order.*"}, Receipt: true,
			Handle: func(_ context.Context, e events.Event) error {
				fmt.Printf("%s %s %s\n", e.Type, e.Subject, e.Data)
				return nil
			},
		}},
	})
	if err != nil {
		panic(err)
	}
	if err := bus.Start(ctx); err != nil {
		panic(err)
	}
	defer func() { _ = bus.Stop(ctx) }()

	err = pg.InTx(ctx, pool, func(ctx context.Context, tx pgx.Tx) error {
		// … the change itself goes here …
		return bus.Recorder().With(tx).Record(ctx, "customer-7", "order.paid", "42", map[string]int{"total": 1999})
	})
	if err != nil {
		panic(err)
	}
	event, err := bus.Events().LatestFor(ctx, "customer-7", "42")
	if err != nil {
		panic(err)
	}
	fanout, _, err := bus.Events().AwaitFanout(ctx, event.ID, 5*time.Second)
	if err != nil {
		panic(err)
	}
	state, ended := bus.Wait(ctx, fanout["shop.receipt"], 5*time.Second)
	fmt.Println(state, ended)
	// Output:
	// order.paid 42 {"total":1999}
	// completed true
}
