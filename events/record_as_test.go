package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/pg"
)

const chosen = "0b5e8d1a-4f0a-4a53-9a83-0d9f6f0f1a11"

func recordingBus(t *testing.T) (*events.Bus, *pgxpool.Pool) {
	t.Helper()
	pool := testdb.New(t)
	bus, err := events.New(pool, events.Config{App: "notes", Types: []events.Type{{Name: "note.changed"}, {Name: "note.moved"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Declare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return bus, pool
}

func recordAs(t *testing.T, bus *events.Bus, pool *pgxpool.Pool, id, owner, typ, subject, data string) (string, bool, error) {
	t.Helper()
	var fresh bool
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		id, fresh, err = bus.RecordAs(ctx, tx, id, owner, typ, subject, json.RawMessage(data))
		return err
	})
	return id, fresh, err
}

// Promise: under one id there is one event; the same content answers it, other content is a conflict and changes nothing.
func TestOneEventUnderAChosenID(t *testing.T) {
	t.Parallel()
	bus, pool := recordingBus(t)
	for i, want := range []bool{true, false, false} {
		id, fresh, err := recordAs(t, bus, pool, chosen, "ann", "note.changed", "7", `{"a": 1}`)
		if err != nil || id != chosen || fresh != want {
			t.Fatalf("call %d: %q, fresh %t, %v", i, id, fresh, err)
		}
	}
	for name, c := range map[string]struct {
		id, owner, typ, subject, data string
		want                          error
	}{
		"other owner":     {chosen, "bob", "note.changed", "7", `{"a": 1}`, events.ErrConflict},
		"other type":      {chosen, "ann", "note.moved", "7", `{"a": 1}`, events.ErrConflict},
		"other subject":   {chosen, "ann", "note.changed", "8", `{"a": 1}`, events.ErrConflict},
		"other data":      {chosen, "ann", "note.changed", "7", `{"a": 2}`, events.ErrConflict},
		"other bytes":     {chosen, "ann", "note.changed", "7", `{"a":1}`, events.ErrConflict},
		"undeclared type": {"0b5e8d1a-4f0a-4a53-9a83-0d9f6f0f1a12", "ann", "note.unheard", "7", `{}`, events.ErrUndeclaredType},
		"no UUID":         {"7", "ann", "note.changed", "7", `{}`, events.ErrInvalid},
		"not JSON":        {chosen, "ann", "note.changed", "7", `{`, events.ErrInvalid},
	} {
		if _, _, err := recordAs(t, bus, pool, c.id, c.owner, c.typ, c.subject, c.data); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	page, err := bus.List(t.Context(), events.Filter{})
	if err != nil || len(page.Events) != 1 {
		t.Fatalf("%+v, %v; want the first event alone", page.Events, err)
	}
	if first, err := bus.Get(t.Context(), page.Events[0].ID); err != nil || string(first.Data) != `{"a": 1}` {
		t.Errorf("%+v, %v; want the first event alone", first, err)
	}
}

// Promise: of two calls at once one is fresh; the other waits for it and answers the event that stands.
func TestTwoAtOnceUnderOneID(t *testing.T) {
	t.Parallel()
	bus, pool := recordingBus(t)
	type answer struct {
		fresh bool
		err   error
	}
	second := make(chan answer, 1)
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		if _, fresh, err := bus.RecordAs(ctx, tx, chosen, "ann", "note.changed", "7", nil); err != nil || !fresh {
			t.Errorf("the first: fresh %t, %v", fresh, err)
		}
		go func() {
			_, fresh, err := recordAs(t, bus, pool, chosen, "ann", "note.changed", "7", `{}`)
			second <- answer{fresh, err}
		}()
		wait.Eventually(t, time.Minute, func() (bool, string) {
			var waiting bool
			err := pool.QueryRow(t.Context(), `select exists (select from pg_stat_activity
				where datname = current_database() and wait_event_type = 'Lock' and query like '%RecordEventAs%')`).Scan(&waiting)
			return err == nil && waiting, "the second does not wait for the first"
		})
		return nil
	})
	if got := <-second; err != nil || got.err != nil || got.fresh {
		t.Errorf("the second: %+v, %v", got, err)
	}
}

// Promise: a requeue exists if and only if its transaction commits.
func TestRequeueInATransaction(t *testing.T) {
	t.Parallel()
	bus, pool := recordingBus(t)
	id, _, err := recordAs(t, bus, pool, "", "ann", "note.changed", "7", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `update postbus.events set poisoned_at = now()`); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	err = pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		return errors.Join(bus.RequeueIn(ctx, tx, id), boom)
	})
	if event, readErr := bus.Get(t.Context(), id); !errors.Is(err, boom) || readErr != nil || event.Status != events.Poisoned {
		t.Errorf("after a rollback %s: %v, %v", event.Status, err, readErr)
	}
	if err := bus.Requeue(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := bus.Requeue(t.Context(), id); !errors.Is(err, events.ErrNotPoisoned) {
		t.Errorf("twice: %v", err)
	}
}
