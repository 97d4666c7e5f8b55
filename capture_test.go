package postbus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
)

const notesSQL = `create table notes (id bigint primary key, owner text not null, title text, seen_at timestamptz)`

var notesCapture = events.Capture{
	Name: "app.notes", Table: "notes", Type: "note.changed", Watch: []string{"title"}, Owner: "it.owner", Subject: "it.id::text",
}

func capturing(t *testing.T, pool *pgxpool.Pool, c events.Capture) *postbus.Bus {
	t.Helper()
	bus, err := postbus.New(pool, quick(postbus.Config{Captures: []events.Capture{c}}))
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Declare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return bus
}

func mustExec(t testing.TB, pool *pgxpool.Pool, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if _, err := pool.Exec(context.Background(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func recorded(t *testing.T, bus *postbus.Bus) (got []string) {
	t.Helper()
	page, err := bus.Events().List(t.Context(), events.Filter{Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	for i := len(page.Events) - 1; i >= 0; i-- {
		e, err := bus.Events().Get(t.Context(), page.Events[i].ID)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s %s %s", e.Type, e.OwnerID, e.Subject, e.Data))
	}
	return got
}

// Promise: no write path can forget to emit, and an update that changes nothing watched emits nothing.
func TestCaptureRecordsEveryChangeAndNoOther(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	mustExec(t, pool, notesSQL)
	bus := capturing(t, pool, notesCapture)
	mustExec(t, pool,
		`insert into notes values (1, 'ann', 'first'), (2, 'bob', 'second')`,
		`update notes set title = title`,
		`update notes set seen_at = now()`,
		`update notes set title = 'changed' where id = 1`,
		`update notes set title = null where id = 2`,
		`delete from notes where id = 2`,
	)
	want := []string{
		`note.changed ann 1 {"op" : "insert", "id" : 1}`,
		`note.changed bob 2 {"op" : "insert", "id" : 2}`,
		`note.changed ann 1 {"op" : "update", "id" : 1}`,
		`note.changed bob 2 {"op" : "update", "id" : 2}`,
		`note.changed bob 2 {"op" : "delete", "id" : 2}`,
	}
	if diff := cmp.Diff(want, recorded(t, bus)); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}

// Promise: installing again changes nothing, a changed declaration replaces its triggers, and drift is put right.
func TestCaptureInstallsOnceFollowsItsDeclarationAndMendsDrift(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	mustExec(t, pool, notesSQL)
	capturing(t, pool, notesCapture)
	const oids = `select string_agg(oid::text, ',' order by oid) from pg_trigger where tgrelid = 'notes'::regclass`
	first := one[string](t, pool, oids)
	capturing(t, pool, notesCapture)
	if again := one[string](t, pool, oids); again != first {
		t.Errorf("triggers were replaced without need: %s, then %s", first, again)
	}

	changed := notesCapture
	changed.On, changed.Data = []events.Op{events.Insert}, `json_build_object('title', new.title)`
	bus := capturing(t, pool, changed)
	mustExec(t, pool, `insert into notes values (1, 'ann', 'it''s')`, `delete from notes`)
	if diff := cmp.Diff([]string{`note.changed ann 1 {"title" : "it's"}`}, recorded(t, bus)); diff != "" {
		t.Errorf("after the change (-want +got):\n%s", diff)
	}

	mustExec(t, pool, `alter table notes disable trigger all`)
	capturing(t, pool, changed)
	mustExec(t, pool, `insert into notes values (2, 'ann', 'two')`)
	if n := len(recorded(t, bus)); n != 2 {
		t.Errorf("%d events after a disabled trigger was put right, want 2", n)
	}
}

// Promise: a capture that cannot work is refused at boot with what to do, not found out by a failing write.
func TestCaptureIsRefusedAtBoot(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	mustExec(t, pool, notesSQL)
	with := func(change func(*events.Capture)) events.Capture {
		c := notesCapture
		change(&c)
		return c
	}
	for name, c := range map[string]struct {
		capture events.Capture
		want    error
		says    string
	}{
		"no table":                        {with(func(c *events.Capture) { c.Table = "nothing.here" }), events.ErrInvalid, "does not exist"},
		"undeclared type":                 {with(func(c *events.Capture) { c.Type = "note.unheard" }), events.ErrUndeclaredType, "note.unheard"},
		"no owner":                        {with(func(c *events.Capture) { c.Owner = " " }), events.ErrInvalid, "Owner must not be empty"},
		"long name":                       {with(func(c *events.Capture) { c.Name = strings.Repeat("x", 41) }), events.ErrInvalid, "limit is 40"},
		"unknown column":                  {with(func(c *events.Capture) { c.Watch = []string{`ti"tle`} }), nil, "does not exist"},
		"unknown column in an expression": {with(func(c *events.Capture) { c.Subject = "it.nothing" }), events.ErrInvalid, "expression of Subject"},
		"unqualified function":            {with(func(c *events.Capture) { c.Owner = "public.nothing(it.id)" }), events.ErrInvalid, "expression of Owner"},
		"type of one operation":           {with(func(c *events.Capture) { c.Types = map[events.Op]string{events.Delete: "note.gone"} }), events.ErrUndeclaredType, "note.gone"},
		"unknown op":                      {with(func(c *events.Capture) { c.On = []events.Op{"truncate"} }), events.ErrInvalid, "truncate"},
	} {
		bus, err := postbus.New(pool, quick(postbus.Config{Captures: []events.Capture{c.capture}}))
		if err == nil {
			err = bus.Declare(t.Context())
		}
		if err == nil || (c.want != nil && !errors.Is(err, c.want)) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %v that says %q", name, err, c.want, c.says)
		}
	}
}

// A role that writes the table evaluates the expressions and needs execute on postbus.record; with it, it writes.
func TestCaptureRunsAsTheWriter(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	role := fmt.Sprintf("writer_%d", time.Now().UnixNano())
	mustExec(t, pool, notesSQL, `create role `+role, `grant select, insert on notes to `+role)
	t.Cleanup(func() { mustExec(t, pool, `drop owned by `+role, `drop role `+role) })
	bus := capturing(t, pool, notesCapture)
	insert := `begin; set local role ` + role + `; insert into notes values (1, 'ann', 'x'); commit`
	_, err := pool.Exec(t.Context(), insert)
	if err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("write by a role that may not record: %v, want permission denied", err)
	}
	mustExec(t, pool, `grant postbus_writer to `+role, insert)
	if n := len(recorded(t, bus)); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}

// Operations may have types of their own, and a capture that goes to another table leaves nothing on the old one.
func TestCaptureHasTypesAndMoves(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	mustExec(t, pool, notesSQL, strings.Replace(notesSQL, "notes", "memos", 1))
	c := notesCapture
	c.Types = map[events.Op]string{events.Delete: "note.gone"}
	gone := events.Type{Name: "note.gone"}
	for _, table := range []string{"notes", "memos"} {
		c.Table = table
		bus, err := postbus.New(pool, quick(postbus.Config{Types: []events.Type{noteChanged, gone}, Captures: []events.Capture{c}}))
		if err != nil {
			t.Fatal(err)
		}
		if err := bus.Declare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	mustExec(t, pool, `insert into notes values (1, 'ann')`, `insert into memos values (2, 'ann')`, `delete from notes`, `delete from memos`)
	want := []string{`note.changed ann 2 {"op" : "insert", "id" : 2}`, `note.gone ann 2 {"op" : "delete", "id" : 2}`}
	bus, err := postbus.New(pool, quick(postbus.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, recorded(t, bus)); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}
