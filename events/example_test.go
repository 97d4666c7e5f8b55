package events_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/pg"
)

func TestMain(m *testing.M) {
	testdb.Run(m, func(ctx context.Context, pool *pgxpool.Pool) error { return pg.Migrate(ctx, pool) })
}

func ExampleRecorder() {
	pool, done := testdb.ForExample()
	defer done()
	ctx := context.Background()
	bus, err := events.New(pool, events.Config{App: "notes", Types: []events.Type{{Name: "note.changed"}}})
	if err != nil {
		panic(err)
	}
	if err := bus.Declare(ctx); err != nil {
		panic(err)
	}
	err = pg.InTx(ctx, pool, func(ctx context.Context, tx pgx.Tx) error {
		return bus.Recorder().With(tx).Record(ctx, "ann", "note.changed", "7", nil)
	})
	fmt.Println(err)
	fmt.Println(bus.Recorder().Record(ctx, "ann", "note.moved", "7", nil))
	e, err := bus.LatestFor(ctx, "ann", "7")
	fmt.Println(e.Type, e.Status, err)
	// Output:
	// <nil>
	// record "note.moved": event type is not declared: declare it in Config.Types or with postbus.declare_type
	// note.changed pending <nil>
}

func ExampleCapture() {
	pool, done := testdb.ForExample()
	defer done()
	ctx := context.Background()
	if _, err := pool.Exec(ctx, `create table notes (id bigint primary key, owner text, title text, read_at timestamptz)`); err != nil {
		panic(err)
	}
	bus, err := events.New(pool, events.Config{
		App: "notes", Types: []events.Type{{Name: "note.changed"}},
		Captures: []events.Capture{{
			Name: "notes.rows", Table: "notes", Type: "note.changed", Watch: []string{"title"}, Owner: "it.owner", Subject: "it.id::text",
		}},
	})
	if err != nil {
		panic(err)
	}
	if err := bus.Declare(ctx); err != nil {
		panic(err)
	}
	for _, sql := range []string{
		`insert into notes values (7, 'ann', 'first')`, `update notes set read_at = now()`, `update notes set title = 'second'`,
	} {
		if _, err := pool.Exec(ctx, sql); err != nil {
			panic(err)
		}
	}
	page, err := bus.List(ctx, events.Filter{})
	if err != nil {
		panic(err)
	}
	for _, e := range page.Events { // newest first
		e, err := bus.Get(ctx, e.ID) // a list has no data
		if err != nil {
			panic(err)
		}
		fmt.Println(e.OwnerID, e.Subject, string(e.Data))
	}
	// Output:
	// ann 7 {"op" : "update", "id" : 7}
	// ann 7 {"op" : "insert", "id" : 7}
}
