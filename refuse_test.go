package postbus_test

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/pg"
)

// Promise: while Postgres answers and refuses to write, as a standby does, change and event fail together with an error that says so; the
// relay tries again at growing intervals; and when it takes writes again everything goes on by itself.
func TestServerThatRefusesWrites(t *testing.T) {
	t.Parallel()
	server := testdb.Server(t)
	cfg, err := pgxpool.ParseConfig(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	pool, err := newPool(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	book, h := &logBook{}, &handledSet{}
	bus := startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{to("index", h.handle)}, Log: book.logger()})
	mustExec(t, pool, `create table notes (id text primary key)`)
	write := func(id string) error {
		return pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `insert into notes values ($1)`, id); err != nil {
				return err
			}
			return bus.Recorder().With(tx).Record(ctx, "owner", noteChanged.Name, id, nil)
		})
	}
	if err := write("before"); err != nil {
		t.Fatal(err)
	}
	wait.Eventually(t, within, func() (bool, string) { return h.count() == 1, "not handled" })

	open, err := pool.Begin(t.Context()) // has changed a row when the server turns
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.Exec(t.Context(), `insert into notes values ('torn')`); err != nil {
		t.Fatal(err)
	}
	if err := server.RestartAsStandby(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := bus.Recorder().With(open).Record(t.Context(), "owner", noteChanged.Name, "torn", nil); err == nil {
		t.Error("an event was recorded on a connection that is gone")
	}
	_ = open.Rollback(t.Context())
	wait.Eventually(t, within, func() (bool, string) { // connections from before are found out one by one
		err := write("refused")
		return err != nil && strings.Contains(err.Error(), "recovery"), "the error does not say so: " + errorText(err)
	})
	growing(t, book)

	mustExec(t, pool, `select pg_promote()`)
	wait.Eventually(t, time.Minute, func() (bool, string) {
		err := write("after")
		return err == nil, errorText(err)
	})
	wait.Eventually(t, time.Minute, func() (bool, string) { return len(h.missing([]string{"after"})) == 0, "not handled after the return" })
	if n := one[int](t, pool, `select count(*) from notes as n
		full join (select subject from postbus.events where type = 'note.changed') as e on e.subject = n.id
		where n.id is null or e.subject is null or n.id in ('torn', 'refused')`); n != 0 {
		t.Errorf("%d changes without their event, events without their change, or either of what was refused", n)
	}
}

func errorText(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}

// What the server cannot take now (a full disk here) is not an event's fault: no attempt of it is spent, however often passes fail.
func TestPassesThatFailThroughTheServerSpendNoAttempt(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	mustExec(t, pool,
		`create function full_disk() returns trigger language plpgsql as $$
			begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$`,
		`create trigger full_disk before insert on postbus.river_job for each row when (new.kind = 'index') execute function full_disk()`)
	book := &logBook{}
	bus := startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{to("index", ignore)}, Log: book.logger()})
	recordAll(t, pool, bus.Recorder(), 3, numbered("note-"))
	growing(t, book)
	if n := one[int](t, pool, `select count(*) from postbus.events where attempts = 0 and fanned_out_at is null and poisoned_at is null`); n != 3 {
		t.Errorf("%d of 3 events wait with no attempt spent", n)
	}
	mustExec(t, pool, `drop trigger full_disk on postbus.river_job`)
	eventually(t, within, pool, int64(3), `select count(*) from postbus.river_job where kind = 'index' and state = 'completed'`)
}

var failedPass = regexp.MustCompile(`relay pass failed.* failures=(\d+) wait=(\S+)`)

// growing waits for six failed passes in a row, and looks at the waits between them.
func growing(t *testing.T, book *logBook) {
	t.Helper()
	waits := map[int]time.Duration{}
	wait.Eventually(t, within, func() (bool, string) {
		for _, found := range failedPass.FindAllStringSubmatch(book.text(), -1) {
			n, err := strconv.Atoi(found[1])
			if err != nil {
				t.Fatal(err)
			}
			if waits[n], err = time.ParseDuration(found[2]); err != nil {
				t.Fatal(err)
			}
		}
		return waits[6] > 0, "the relay has not failed six times in a row"
	})
	for n := 2; n <= 4; n++ { // 20 ms doubling to 200 ms, each ± 10 %
		if waits[n] <= waits[n-1] {
			t.Errorf("wait %d was %s after %s", n, waits[n], waits[n-1])
		}
	}
	if waits[6] > 220*time.Millisecond {
		t.Errorf("wait 6 was %s, BackoffMax is 200ms", waits[6])
	}
}
