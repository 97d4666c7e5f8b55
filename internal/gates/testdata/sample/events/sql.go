package events

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Parser queues something else.
type queue struct{}

func (queue) Queue(string) {}

func query(ctx context.Context, conn *pgx.Conn, text string) {
	_, _ = conn.Exec(ctx, text)  // want sql
	_, _ = conn.Query(ctx, text) // want sql
	_ = conn.QueryRow(ctx, text) // want sql
	(&pgx.Batch{}).Queue(text)   // want sql
	queue{}.Queue(text)
}

// What reads as a statement.
var statements = []string{
	"select postbus.record($1)", // want sql
	"SELECT 1",                  // want sql
	`insert into postbus.events (id) values ($1)`,         // want sql
	"-- Why.\nupdate postbus.events set attempts = 0",     // want sql
	fmt.Sprintf("update %s e set attempts = 0", "events"), // want sql
	"delete from postbus.events",                          // want sql
	"with due as (select 1) select * from due",            // want sql
	"create unique index if not exists events_idx on x",   // want sql
	"create or replace function postbus.f() returns void", // want sql
	"alter table postbus.events set (fillfactor = 50)",    // want sql
	"drop trigger events_wake on postbus.events",          // want sql
	"listen postbus_events",                               // want sql
	"notify postbus_events, 'x'",                          // want sql
	"truncate postbus.events",                             // want sql
	"set local postbus.wake = off",                        // want sql
	"lock table postbus.events",                           // want sql
	"grant execute on function f() to postbus_writer",     // want sql
	"begin; commit",          // want sql
	"rollback to before",     // want sql
	"savepoint one",          // want sql
	"do $$ begin end $$",     // want sql
	" where owner_id = $1",   // want sql
	" order by seq limit $2", // want sql
}

// What only sounds like one.
var sentences = []error{
	errors.New("select an owner"),
	errors.New("create the bus before you start it"),
	errors.New("create type"),
	errors.New("update the declaration and set a limit"),
	errors.New("drop the subscription"),
	errors.New("notify rules are empty"),
	errors.New("with a limit as high as that"),
	errors.New("set MaxConns to 8 or more"),
	errors.New("begin"),
	errors.New("commit the change first"),
	errors.New("listen on the pool's connection"),
	errors.New("where the limit is 4"),
	errors.New("delete it from the list"),
}
