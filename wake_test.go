package postbus_test

import (
	"context"
	"fmt"
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

// countNotifications counts what arrives on the channel until the returned function is called.
func countNotifications(t *testing.T, pool *pgxpool.Pool, channel string) func() int {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "listen "+channel); err != nil {
		t.Fatal(err)
	}
	return func() int {
		defer conn.Release()
		n := 0
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			_, err := conn.Conn().WaitForNotification(ctx)
			cancel()
			if err != nil {
				_, _ = conn.Exec(t.Context(), "unlisten *")
				return n
			}
			n++
		}
	}
}

// A NOTIFY in every transaction makes commits queue behind one lock: while a relay is on duty writers send none.
func TestWritersDoNotNotifyWhileARelayIsOnDuty(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{})
	count := countNotifications(t, pool, "postbus_events")
	const transactions = 1000
	for i := range transactions {
		recordAll(t, pool, bus.Recorder(), 1, func(int) string { return fmt.Sprint("note-", i) })
	}
	if n := count(); n == 0 || n > transactions/4 {
		t.Errorf("%d notifications for %d transactions: want some, for the first of a busy period, and far fewer than one each", n, transactions)
	}
}

// Nobody on duty: one notification a transaction, whatever the number of its rows, none after a rollback, none where it is
// switched off.
func TestATransactionNotifiesOnceWhereNobodyIsOnDuty(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus, err := postbus.New(pool, quick(postbus.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Declare(t.Context()); err != nil {
		t.Fatal(err)
	}
	const many = `insert into postbus.events (type, owner_id, subject) select 'note.changed', 'o', i::text from generate_series(1, 1000) as i`
	for name, c := range map[string]struct {
		before, sql string
		want        int
	}{
		"one statement of 1,000 rows":       {"", many, 1},
		"only inside a savepoint undone":    {"", `savepoint a; ` + many + `; rollback to a`, 0},
		"after a savepoint that was undone": {"", `savepoint a; ` + many + `; rollback to a; ` + many, 1},
		"switched off":                      {"set local postbus.wake = off; ", many, 0},
	} {
		count := countNotifications(t, pool, "postbus_events")
		if _, err := pool.Exec(t.Context(), "begin; "+c.before+c.sql+"; commit"); err != nil {
			t.Fatal(err)
		}
		if n := count(); n != c.want {
			t.Errorf("%s: %d notifications, want %d", name, n, c.want)
		}
	}
	if n := one[int64](t, pool, `select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`); n != 0 {
		t.Errorf("the probe leaked %d locks", n)
	}
}

// A database whose default isolation is repeatable read changes nothing: every transaction of the bus says its own.
func TestDefaultIsolationOfTheDatabaseDoesNotMatter(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t)
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.ConnConfig.RuntimeParams["default_transaction_isolation"] = "repeatable read"
	pool, err := newPool(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	book, h := &logBook{}, &handledSet{}
	sub := []events.Subscription{to("index", h.handle)}
	bus := startBus(t, pool, postbus.Config{Log: book.logger(), Subscriptions: sub})
	startBus(t, pool, postbus.Config{Log: book.logger(), Subscriptions: sub})
	for range 50 {
		recordAll(t, pool, bus.Recorder(), 10, func(i int) string { return fmt.Sprint(time.Now().UnixNano(), i) })
	}
	wait.Eventually(t, 20*time.Second, func() (bool, string) { return h.count() == 500, fmt.Sprint(h.count(), " of 500 handled") })
	if n := book.count("40001") + book.count("could not serialize"); n != 0 {
		t.Errorf("%d serialization failures:\n%s", n, book.lines.String())
	}
}

// Promise: retention never takes an event that is un-fanned, poisoned, or has an unfinished job.
func TestRetentionKeepsWhatIsNotDone(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	hold := make(chan struct{})
	bus := startBus(t, pool, postbus.Config{
		Retention: time.Hour,
		Subscriptions: []events.Subscription{to("index", func(ctx context.Context, e events.Event) error {
			if e.Subject == "held-0" {
				select {
				case <-hold:
				case <-ctx.Done():
				}
			}
			return nil
		})},
	})
	defer close(hold)
	for _, prefix := range []string{"done-", "held-", "young-", "poisoned-", "waiting-"} {
		recordAll(t, pool, bus.Recorder(), 1, numbered(prefix))
	}
	eventually(t, 10*time.Second, pool, int64(4), `select count(*) from postbus.river_job where kind = 'index' and state = 'completed'`)
	// A month passes for all but the young one; two are put back to what they would be had their fan-out failed.
	err := pg.InTx(t.Context(), pool, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `update postbus.events set fanned_out_at = case when subject like 'waiting%' then null else fanned_out_at - interval '30 days' end,
			next_attempt_at = case when subject like 'waiting%' then clock_timestamp() + interval '1 day' end,
			poisoned_at = case when subject like 'poisoned%' then fanned_out_at end where subject <> 'young-0'`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	id, err := bus.Inspector().RunPeriodic(t.Context(), "app", "events.retention")
	if err != nil {
		t.Fatal(err)
	}
	if state, ended := bus.Wait(t.Context(), id, 20*time.Second); !ended || state != "completed" {
		t.Fatalf("the retention ended as %q", state)
	}
	left := one[string](t, pool, `select string_agg(subject, ' ' order by subject) from postbus.events`)
	if want := "held-0 poisoned-0 waiting-0 young-0"; left != want {
		t.Errorf("left are %s; want %s", left, want)
	}
}
