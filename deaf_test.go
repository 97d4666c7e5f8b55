package postbus_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/faultproxy"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
)

// logBook keeps what was logged.
type logBook struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(p)
}

func (l *logBook) count(text string) int { return strings.Count(l.text(), text) }

func (l *logBook) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.String()
}

func (l *logBook) logger() *slog.Logger { return testdb.Logged(slog.NewTextHandler(l, nil)) }

// Promise: where no notification ever arrives, as behind a pooler in transaction mode, everything flows by polling, and the log
// says so once.
func TestWithoutNotificationsEverythingFlowsByPolling(t *testing.T) {
	t.Parallel()
	proxy, through := faultproxy.ForURL(t, testdb.URL(t))
	proxy.DropNotifications(true)
	pool, err := pgxpool.New(t.Context(), through)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	book := &logBook{}
	h := &handledSet{}
	bus := startBus(t, pool, postbus.Config{Log: book.logger(), Subscriptions: []events.Subscription{to("index", h.handle)}})
	wait.Eventually(t, 20*time.Second, func() (bool, string) { return book.count("notifications do not arrive") > 0, "not noticed" })
	recordAll(t, pool, bus.Recorder(), 300, numbered("note-"))
	wait.Eventually(t, 20*time.Second, func() (bool, string) { return h.count() == 300, "not all handled" })
	latest, err := bus.Events().LatestFor(t.Context(), "owner", "note-299")
	if err != nil {
		t.Fatal(err)
	}
	if _, fanned, err := bus.Events().AwaitFanout(t.Context(), latest.ID, 5*time.Second); err != nil || !fanned {
		t.Errorf("a waiter does not learn of the fan-out: %v", err)
	}
	if n := one[int64](t, pool, `select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database()) and objid = 5287002951004850::bit(32)::bigint`); n != 0 {
		t.Error("a deaf relay holds the duty lock, which silences the writers")
	}
	if n := book.count("notifications do not arrive"); n != 1 {
		t.Errorf("the log says it %d times, want once", n)
	}
}

// Promise: a listening connection that went silent (half open) costs time and nothing else.
func TestListenerInABlackHoleEverythingFlowsByPolling(t *testing.T) {
	t.Parallel()
	direct := testdb.URL(t)
	proxy, through := faultproxy.ForURL(t, direct)
	listen, err := pgx.ParseConfig(through)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(t.Context(), direct)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	h := &handledSet{}
	bus := startBus(t, pool, postbus.Config{ListenConn: listen, Subscriptions: []events.Subscription{to("index", h.handle)}})
	wait.Eventually(t, 20*time.Second, func() (bool, string) { return proxy.Connections() > 0, "the listener does not come" })
	recordAll(t, pool, bus.Recorder(), 100, numbered("before-"))
	wait.Eventually(t, 20*time.Second, func() (bool, string) { return h.count() == 100, "not all handled before" })
	proxy.BlackHole()
	recordAll(t, pool, bus.Recorder(), 300, numbered("during-"))
	wait.Eventually(t, 30*time.Second, func() (bool, string) { return h.count() == 400, "not all handled in the black hole" })
	proxy.Heal()
	recordAll(t, pool, bus.Recorder(), 100, numbered("after-"))
	wait.Eventually(t, 30*time.Second, func() (bool, string) { return h.count() == 500, "not all handled after" })
}
