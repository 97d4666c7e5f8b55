package pg_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// taken says whether another session finds the lock taken.
func (s *station) taken(t *testing.T, key int64) bool {
	t.Helper()
	var free bool
	const probe = `select case when pg_try_advisory_lock_shared($1) then pg_advisory_unlock_shared($1) is not null else false end`
	if err := s.pool.QueryRow(t.Context(), probe, key).Scan(&free); err != nil {
		t.Fatal(err)
	}
	return !free
}

func TestTryLockAndUnlock(t *testing.T) {
	t.Parallel()
	s := started(t, undisturbed)
	s.lock(t, 1)
	if !s.Held(1) || !s.taken(t, 1) {
		t.Errorf("Held = %t, taken = %t, want both", s.Held(1), s.taken(t, 1))
	}
	if ok, err := s.TryLock(t.Context(), 1); ok || err != nil {
		t.Errorf("TryLock of another caller = %t, %v, want false, nil", ok, err)
	}
	if err := s.Unlock(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if s.Held(1) || s.taken(t, 1) {
		t.Errorf("after Unlock: Held = %t, taken = %t, want neither", s.Held(1), s.taken(t, 1))
	}
	if err := s.Unlock(t.Context(), 1); err != nil {
		t.Errorf("Unlock of a lock that is not held: %v", err)
	}
}

func TestTryLockDoesNotWaitForAnotherSession(t *testing.T) {
	t.Parallel()
	s := started(t)
	conn, err := s.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), "select pg_advisory_lock(1)"); err != nil {
		t.Fatal(err)
	}
	if ok, err := s.TryLock(t.Context(), 1); ok || err != nil {
		t.Errorf("TryLock = %t, %v, want false, nil", ok, err)
	}
	if _, err := conn.Exec(t.Context(), "select pg_advisory_unlock(1)"); err != nil {
		t.Fatal(err)
	}
}

// Of many callers at once one gets the lock.
func TestTryLockIsExclusiveWithinTheProcess(t *testing.T) {
	t.Parallel()
	s := started(t)
	var got atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if ok, err := s.TryLock(t.Context(), 1); err != nil {
				t.Error(err)
			} else if ok {
				got.Add(1)
			}
		})
	}
	wg.Wait()
	if got.Load() != 1 {
		t.Errorf("%d callers got the lock, want 1", got.Load())
	}
}

// A caller who leaves early takes no lock along and leaves none behind; an Unlock that nobody
// waits for happens.
func TestLocksOfCallersWhoLeave(t *testing.T) {
	t.Parallel()
	s := started(t)
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		ok, err := s.TryLock(ctx, 1)
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if ok != s.Held(1) {
			t.Fatalf("TryLock = %t, Held = %t", ok, s.Held(1))
		}
		if ok {
			_ = s.Unlock(ctx, 1)
		}
	}
	expectNoLocks(t, s)
}
