package postbus_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/pg"
)

// Promise: change and event vanish together; never one without the other.
func TestRolledBackTransactionRecordsNothing(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{})
	boom := errors.New("boom")
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		if err := bus.Recorder().With(tx).Record(ctx, "owner", noteChanged.Name, "gone", nil); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) {
		t.Fatal(err)
	}
	if n := one[int64](t, pool, `select count(*) from postbus.events`); n != 0 {
		t.Errorf("%d events after a rollback", n)
	}
}

// Promise: what cannot be accepted is refused with an error that says why, and nothing is written; the caller's transaction
// lives on.
func TestRecordRefusesAndWritesNothing(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{})
	big := strings.Repeat("x", 300<<10)
	for name, c := range map[string]struct {
		owner, typ, subject string
		data                any
		want                error
		says                string
	}{
		"undeclared type": {"o", "note.unheard", "s", nil, events.ErrUndeclaredType, "note.unheard"},
		"bad type name":   {"o", "Note Changed", "s", nil, events.ErrInvalid, "dotted lower-case"},
		"empty owner":     {"", "note.changed", "s", nil, events.ErrInvalid, "owner must not be empty"},
		"empty type":      {"o", "", "s", nil, events.ErrInvalid, "type must not be empty"},
		"empty subject":   {"o", "note.changed", "", nil, events.ErrInvalid, "subject must not be empty"},
		"NUL in subject":  {"o", "note.changed", "a\x00b", nil, events.ErrInvalid, "without NUL"},
		"not JSON":        {"o", "note.changed", "s", json.RawMessage(`{"a":`), events.ErrInvalid, "not JSON"},
		"not UTF-8":       {"o", "note.changed", "s", json.RawMessage("\"\xff\""), events.ErrInvalid, "not JSON in UTF-8"},
		"NUL in data":     {"o", "note.changed", "s", map[string]string{"a": "\x00"}, events.ErrInvalid, `\u0000`},
		"half surrogate":  {"o", "note.changed", "s", json.RawMessage(`"\ud800"`), events.ErrInvalid, "other half"},
		"over the limit":  {"o", "note.changed", "s", big, events.ErrInvalid, "the limit is 262144 bytes"},
		"not marshalable": {"o", "note.changed", "s", make(chan int), events.ErrInvalid, "cannot be marshalled"},
	} {
		err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
			err := bus.Recorder().With(tx).Record(ctx, c.owner, c.typ, c.subject, c.data)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v; want %v that says %q", name, err, c.want, c.says)
			}
			_, err = tx.Exec(ctx, `select 1`)
			return err
		})
		if err != nil {
			t.Errorf("%s: the caller's transaction is lost: %v", name, err)
		}
	}
	if n := one[int64](t, pool, `select count(*) from postbus.events`); n != 0 {
		t.Errorf("%d events were written", n)
	}
}

// Promise: the bytes of data stay as they were recorded: key order, white space, numbers.
func TestDataKeepsItsBytes(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{})
	raw := json.RawMessage(`{"b":1,  "a":1.0, "n":9007199254740993, "u":"é😀\\u0000"}`)
	if err := bus.Recorder().Record(t.Context(), "o", noteChanged.Name, "s", raw); err != nil {
		t.Fatal(err)
	}
	e, err := bus.Events().LatestFor(t.Context(), "o", "s")
	if err != nil || string(e.Data) != string(raw) {
		t.Errorf("data is %s (%v), want %s", e.Data, err, raw)
	}
}

// Promise: SQL callers are held to the same declaration, and a role with postbus_writer may record and nothing else.
func TestSQLSurfaceIsHeldToTheSameRules(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	startBus(t, pool, postbus.Config{})
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for sql, says := range map[string]string{
		`select postbus.record('o', 'note.changed', 's')`:                                   "",
		`select postbus.record('o', 'note.changed', 's', '{"a":"\\u0000"}')`:                "",
		`select postbus.record('o', 'note.changed', 's', '{"a":"\u0000"}')`:                 `\u0000`,
		`select postbus.record('o', 'note.unheard', 's')`:                                   "is not declared",
		`select postbus.record('', 'note.changed', 's')`:                                    "must not be empty",
		`select postbus.record('o', 'note.changed', null)`:                                  "must not be empty",
		`select postbus.record('o', 'note.changed', 's', null)`:                             "must not be null",
		`select postbus.record('o', 'note.changed', 's', to_json(repeat('x', 300000)))`:     "the limit is 262144 bytes",
		`select postbus.declare_type('Bad Name')`:                                           "dotted lower-case words",
		`select postbus.declare_type('sql.type', exposure => 'public')`:                     "use internal or webhook",
		`select postbus.declare_type('note.changed')`:                                       "belongs to application 'app'",
		`select postbus.declare_type('sql.type', 'said in SQL', 'a subject', 'webhook')`:    "",
		`set role postbus_writer; select postbus.record('o', 'note.changed', 's')`:          "",
		`set role postbus_writer; select postbus.declare_type('sql.other')`:                 "permission denied",
		`set role postbus_writer; select count(*) from postbus.events`:                      "permission denied",
		`set role postbus_writer; insert into postbus.event_types (name) values ('x.y')`:    "permission denied",
		`set role pg_read_all_stats; select postbus.record('o', 'note.changed', 'foreign')`: "permission denied",
	} {
		_, err := conn.Conn().PgConn().Exec(t.Context(), sql).ReadAll()
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v; want %q", sql, err, says)
		}
		if _, err := conn.Exec(t.Context(), `reset role`); err != nil {
			t.Fatal(err)
		}
	}
}
