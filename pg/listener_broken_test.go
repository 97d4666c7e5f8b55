package pg_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/pg"
)

// lostText is what is said once per outage.
const lostText = "level=WARN msg=\"no listening connection"

// ours finds the listening connection.
const ours = "application_name = 'postbus-listener' and datname = current_database()"

// terminate ends the listening connection from the server's side.
func (s *station) terminate(t *testing.T) {
	t.Helper()
	if _, err := s.pool.Exec(t.Context(), "select pg_terminate_backend(pid) from pg_stat_activity where "+ours); err != nil {
		t.Fatal(err)
	}
}

// A database that is away at the start is no error: the listener goes on trying.
func TestListenerStartsWithoutADatabase(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	s.proxy.Refuse()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	sub := s.Subscribe("c")
	wait.Eventually(t, soon, func() (bool, string) { return s.log.count(lostText) == 1, "nothing was said" })
	wait.Eventually(t, soon, func() (bool, string) { return s.proxy.Refused() > 3, "it did not try again" })
	if ok, err := s.TryLock(t.Context(), 1); ok || err != nil {
		t.Errorf("TryLock without a connection = %t, %v, want false, nil", ok, err)
	}
	s.proxy.Heal()
	expectNext(t, sub, pg.Notification{Channel: "c", Resync: true})
	if got := s.log.count(lostText); got != 1 {
		t.Errorf("warnings = %d, want 1 per outage", got)
	}
}

// However a connection is lost, it is noticed, made again, and every subscriber hears a Resync.
func TestListenerComesBack(t *testing.T) {
	t.Parallel()
	breaks := map[string]func(t *testing.T, s *station){
		"ended by the server": func(t *testing.T, s *station) { s.terminate(t) },
		"cut":                 func(_ *testing.T, s *station) { s.proxy.Cut() },
		"half-open":           func(_ *testing.T, s *station) { s.proxy.Strand() },
	}
	for name, breakIt := range breaks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := started(t, func(c *pg.ListenerConfig) { c.PingTimeout = time.Second })
			a, b := s.Subscribe("a"), s.Subscribe("b")
			awaitResync(t, a)
			awaitResync(t, b)
			s.lock(t, 1)
			breakIt(t, s)
			awaitResync(t, a)
			awaitResync(t, b)
			if s.Held(1) {
				t.Error("the lock of the lost connection counts as held")
			}
			s.notify(t, "b", "after")
			for next(t, b).Payload != "after" {
			}
			// The lost connection's lock is not in the way for long.
			s.lock(t, 1)
		})
	}
}

// TryLock and Unlock answer while nothing arrives any more in either direction.
func TestLocksNeverHang(t *testing.T) {
	t.Parallel()
	s := started(t, func(c *pg.ListenerConfig) { c.PingTimeout = time.Second })
	s.lock(t, 1)
	s.proxy.BlackHole()
	answered := make(chan error, 2)
	go func() {
		_, err := s.TryLock(t.Context(), 2)
		answered <- err
		answered <- s.Unlock(t.Context(), 1)
	}()
	for range 2 {
		select {
		case err := <-answered:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(soon):
			t.Fatal("no answer")
		}
	}
	wait.Eventually(t, soon, func() (bool, string) { return !s.Held(1) && !s.Held(2), "locks count as held" })
}

// Where notifications do not arrive the listener says so, once, takes no locks, gives back those
// that it has, and finds out by itself when it is over.
func TestDeafListener(t *testing.T) {
	t.Parallel()
	s := started(t)
	if s.Deaf() {
		t.Error("deaf from the beginning")
	}
	s.awaitHearing(t)
	heard := s.expectState(t, pg.Hears)
	sub := s.Subscribe("c")
	awaitResync(t, sub)
	s.lock(t, 1)

	s.proxy.DropNotifications(true)
	wait.Eventually(t, soon, func() (bool, string) { return s.Deaf(), "not deaf" })
	if deaf := s.expectState(t, pg.Deaf); !deaf.After(heard) {
		t.Errorf("deaf since %s, hearing since %s", deaf, heard)
	}
	awaitResync(t, sub)
	if ok, err := s.TryLock(t.Context(), 2); ok || err != nil {
		t.Errorf("TryLock of a deaf listener = %t, %v, want false, nil", ok, err)
	}
	if s.Held(1) {
		t.Error("a deaf listener holds a lock")
	}
	expectNoLocks(t, s)
	// A probe is sent when the one before it was given up: the third means two more. It is said once,
	// also when the connection is made anew.
	s.terminate(t)
	awaitResync(t, sub)
	dropped := s.proxy.Dropped()
	wait.Eventually(t, soon, func() (bool, string) { return s.proxy.Dropped() >= dropped+3, "no more probes" })

	s.proxy.DropNotifications(false)
	s.awaitHearing(t)
	awaitResync(t, sub)
	if s.Deaf() {
		t.Error("still deaf")
	}
	s.expectState(t, pg.Hears)
	s.Stop()
	s.expectState(t, pg.Off)
	for text, want := range map[string]int{"notifications do not arrive": 1, "hears notifications again": 1} {
		if got := s.log.count(text); got != want {
			t.Errorf("%q was logged %d times, want %d", text, got, want)
		}
	}
}

// Whatever happens to the connection in whatever order, no lock leaks and nothing hangs.
func TestListenerStress(t *testing.T) {
	t.Parallel()
	s := started(t, func(c *pg.ListenerConfig) { c.ProbeEvery = 10 * time.Millisecond })
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for range 40 {
				s.act(t, int64(worker), fmt.Sprint("c", rand.IntN(3)))
			}
		})
	}
	wg.Wait()
	s.awaitHearing(t)
	for worker := range 8 {
		if s.Held(int64(worker)) {
			if err := s.Unlock(t.Context(), int64(worker)); err != nil {
				t.Error(err)
			}
		}
	}
	expectNoLocks(t, s)
}

func (s *station) act(t *testing.T, key int64, channel string) {
	switch rand.IntN(8) {
	case 0:
		s.proxy.Cut()
	case 1, 2:
		sub := s.Subscribe(channel)
		defer sub.Close()
		_ = pg.Notify(t.Context(), s.pool, channel, "x")
	case 3, 4:
		_ = s.Unlock(t.Context(), key)
	default:
		_, _ = s.TryLock(t.Context(), key)
	}
}

// expectNoLocks waits until no advisory lock is held in the database.
func expectNoLocks(t *testing.T, s *station) {
	t.Helper()
	wait.Eventually(t, soon, func() (bool, string) {
		var n int
		err := s.pool.QueryRow(t.Context(), `select count(*) from pg_locks where locktype = 'advisory'
			and database = (select oid from pg_database where datname = current_database())`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n == 0, fmt.Sprintf("%d advisory locks are held", n)
	})
}

// expectState answers since when the listener stands so.
func (s *station) expectState(t *testing.T, want pg.Hearing) time.Time {
	t.Helper()
	state := s.State()
	if state.Hearing != want {
		t.Errorf("the listener's state is %q, want %q", state.Hearing, want)
	}
	return state.Since
}
