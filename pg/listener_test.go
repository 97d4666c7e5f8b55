package pg_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/internal/faultproxy"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/pg"
)

// soon bounds what should happen at once, on a machine that may be busy.
const soon = 20 * time.Second

// station is a listener whose connections, and its pool's, go through a proxy.
type station struct {
	*pg.Listener
	pool   *pgxpool.Pool // direct, not through the proxy
	proxy  *faultproxy.Proxy
	config pg.ListenerConfig
	log    *logBuffer
}

// newStation returns one that is not started, and quicker to notice things than the defaults.
func newStation(t *testing.T, change ...func(*pg.ListenerConfig)) *station {
	t.Helper()
	s := &station{pool: testdb.New(t), log: &logBuffer{}}
	proxy, address := faultproxy.ForURL(t, s.pool.Config().ConnString())
	s.proxy = proxy
	s.config = pg.ListenerConfig{
		Log:       slog.New(slog.NewTextHandler(s.log, nil)),
		PingEvery: 50 * time.Millisecond, PingTimeout: 5 * time.Second,
		ProbeEvery: 100 * time.Millisecond, ProbeTimeout: 2 * time.Second,
		BackoffBase: time.Millisecond, BackoffMax: 50 * time.Millisecond,
	}
	for _, c := range change {
		c(&s.config)
	}
	through, err := pgxpool.New(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	s.Listener = pg.NewListener(through, s.config)
	t.Cleanup(func() {
		proxy.Heal()
		s.Stop()
		through.Close()
	})
	return s
}

// undisturbed has nothing but what is asked of it wake the listener.
func undisturbed(c *pg.ListenerConfig) { c.PingEvery, c.ProbeEvery = time.Hour, time.Hour }

// started returns a station that is known to hear.
func started(t *testing.T, change ...func(*pg.ListenerConfig)) *station {
	t.Helper()
	s := newStation(t, change...)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.awaitHearing(t)
	return s
}

// awaitHearing waits until the listener gives out locks, which it does when it is proven to hear.
func (s *station) awaitHearing(t *testing.T) {
	t.Helper()
	const key = 99
	s.lock(t, key)
	if err := s.Unlock(t.Context(), key); err != nil {
		t.Fatal(err)
	}
}

// lock waits until the listener has a lock.
func (s *station) lock(t *testing.T, key int64) {
	t.Helper()
	wait.Eventually(t, soon, func() (bool, string) {
		ok, err := s.TryLock(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return ok, "the lock is not to be had"
	})
}

func (s *station) notify(t *testing.T, channel string, payloads ...string) {
	t.Helper()
	if err := pg.Notify(t.Context(), s.pool, channel, payloads...); err != nil {
		t.Fatal(err)
	}
}

// next returns what a subscription hears next.
func next(t *testing.T, s *pg.Subscription) pg.Notification {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	select {
	case n := <-s.C():
		return n
	case <-ctx.Done():
		t.Fatal("heard nothing")
		return pg.Notification{}
	}
}

func expectNext(t *testing.T, s *pg.Subscription, want ...pg.Notification) {
	t.Helper()
	for _, w := range want {
		if diff := cmp.Diff(w, next(t, s)); diff != "" {
			t.Fatalf("notification (-want +got):\n%s", diff)
		}
	}
}

// awaitResync reads until a Resync.
func awaitResync(t *testing.T, s *pg.Subscription) {
	t.Helper()
	for !next(t, s).Resync {
	}
}

// logBuffer is a log that may be read while it is written.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.buf.String(), text)
}

// The first thing that comes is a Resync, when LISTEN is in effect; then what was sent, in order.
// It does not matter whether the subscription or the connection was there first.
func TestSubscribeHasNoGap(t *testing.T) {
	t.Parallel()
	s := newStation(t, undisturbed)
	early := s.Subscribe("early")
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	late := s.Subscribe("late channel")
	for channel, sub := range map[string]*pg.Subscription{"early": early, "late channel": late} {
		expectNext(t, sub, pg.Notification{Channel: channel, Resync: true})
		s.notify(t, channel, "1", "2")
		expectNext(t, sub, pg.Notification{Channel: channel, Payload: "1"}, pg.Notification{Channel: channel, Payload: "2"})
	}
	s.awaitHearing(t) // nothing is under way any more
	expectNext(t, s.Subscribe("live"), pg.Notification{Channel: "live", Resync: true})
	second := s.Subscribe("early")
	expectNext(t, second, pg.Notification{Channel: "early", Resync: true})
	early.Close()
	early.Close() // twice is fine
	if _, open := <-early.C(); open {
		t.Error("the channel of a closed subscription is open")
	}
	s.notify(t, "early", "3")
	expectNext(t, second, pg.Notification{Channel: "early", Payload: "3"})
	second.Close()
	third := s.Subscribe("early")
	expectNext(t, third, pg.Notification{Channel: "early", Resync: true})
	s.notify(t, "early", "4")
	expectNext(t, third, pg.Notification{Channel: "early", Payload: "4"})
}

// A reader that falls behind hears a Resync in place of what it missed, and holds up nobody.
func TestSlowSubscriberNeverHoldsUpAnother(t *testing.T) {
	t.Parallel()
	s := started(t, func(c *pg.ListenerConfig) { c.Buffer = 4 })
	slow, quick := s.Subscribe("c"), s.Subscribe("c")
	expectNext(t, quick, pg.Notification{Channel: "c", Resync: true})
	for i := range 20 {
		payload := strings.Repeat("x", i)
		s.notify(t, "c", payload)
		expectNext(t, quick, pg.Notification{Channel: "c", Payload: payload})
	}
	expectNext(t, slow, pg.Notification{Channel: "c", Resync: true})
	s.notify(t, "c", "end")
	for next(t, slow).Payload != "end" {
	}
}

// Between two statements the connection is idle outside of any transaction.
func TestListenerIsNeverIdleInTransaction(t *testing.T) {
	t.Parallel()
	s := started(t)
	expectNext(t, s.Subscribe("c"), pg.Notification{Channel: "c", Resync: true})
	wait.Eventually(t, soon, func() (bool, string) {
		var state string
		err := s.pool.QueryRow(t.Context(), `select string_agg(state, ', ') from pg_stat_activity
			where application_name = 'postbus-listener' and datname = current_database()`).Scan(&state)
		if err != nil {
			t.Fatal(err)
		}
		return state == "idle", "the state of the listening connections is " + state
	})
}

func TestListenerStopToleratesNeverStartedAndTwice(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	s.Stop()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	s.Stop()
	// And it can be started again.
	sub := s.Subscribe("c")
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectNext(t, sub, pg.Notification{Channel: "c", Resync: true})
}
