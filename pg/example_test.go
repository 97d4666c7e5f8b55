package pg_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/pg"
)

func ExampleInTx() {
	pool, done := testdb.ForExample()
	defer done()

	err := pg.InTx(context.Background(), pool, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "insert into notes (id) values (1)"); err != nil {
			return err
		}
		return errors.New("changed my mind")
	})
	fmt.Println("error:", err)

	var count int
	_ = pool.QueryRow(context.Background(), "select count(*) from notes").Scan(&count)
	fmt.Println("notes:", count)
	// Output:
	// error: changed my mind
	// notes: 0
}

func ExampleNested() {
	pool, done := testdb.ForExample()
	defer done()

	err := pg.InTx(context.Background(), pool, func(ctx context.Context, tx pgx.Tx) error {
		for _, id := range []int{1, 1, 2} { // the second one is a duplicate
			err := pg.Nested(ctx, tx, func(ctx context.Context, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "insert into notes (id) values ($1)", id)
				return err
			})
			if pg.IsRowFault(err) {
				fmt.Println("skipped", id)
				continue
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	fmt.Println("error:", err)

	var count int
	_ = pool.QueryRow(context.Background(), "select count(*) from notes").Scan(&count)
	fmt.Println("notes:", count)
	// Output:
	// skipped 1
	// error: <nil>
	// notes: 2
}

func ExampleListener() {
	pool, done := testdb.ForExample()
	defer done()

	listener := pg.NewListener(pool, pg.ListenerConfig{})
	_ = listener.Start(context.Background()) // needs no database yet
	defer listener.Stop()

	news := listener.Subscribe("news")
	defer news.Close()
	fmt.Println("look again:", (<-news.C()).Resync) // LISTEN is in effect: look at the rows now

	_ = pg.Notify(context.Background(), pool, "news", "row 7")
	fmt.Println("look at:", (<-news.C()).Payload)
	// Output:
	// look again: true
	// look at: row 7
}
