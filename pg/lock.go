package pg

import (
	"context"
	"fmt"
)

// lockRequest asks the connection's goroutine to take or release a lock. All but key, release and
// done is guarded by the listener's lock.
type lockRequest struct {
	key     int64
	release bool
	done    chan struct{} // closed with the answer

	answered  bool
	abandoned bool // the caller has gone: take back what was taken
	ok        bool
	err       error
}

func (r *lockRequest) answer(ok bool, err error) {
	if !r.answered {
		r.answered, r.ok, r.err = true, ok, err
		close(r.done)
	}
}

// TryLock takes a session's exclusive advisory lock on the listening connection and says whether
// it did. It does not when another session or another caller in this process has the lock, and
// not while the listener is disconnected, deaf or not yet proven to hear: then the lock could end
// up in a pooler's hands. It never waits for the lock. The lock goes with the connection: see Held.
func (l *Listener) TryLock(ctx context.Context, key int64) (bool, error) {
	return l.ask(ctx, &lockRequest{key: key, done: make(chan struct{})})
}

// Unlock releases a lock taken with TryLock. From the call on, Held says no; where ctx ends first,
// the release still happens. Where the lock went with its connection there is nothing to do.
func (l *Listener) Unlock(ctx context.Context, key int64) error {
	_, err := l.ask(ctx, &lockRequest{key: key, release: true, done: make(chan struct{})})
	return err
}

// Held says whether the lock is ours, as far as is known: false as soon as the connection is
// known to be lost.
func (l *Listener) Held(key int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[key]
}

func (l *Listener) ask(ctx context.Context, r *lockRequest) (bool, error) {
	if !l.enqueue(r) {
		return false, nil
	}
	select {
	case <-r.done:
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !r.answered {
		r.abandoned = true
		return false, ctx.Err()
	}
	return r.ok, r.err
}

// enqueue is false where there is nothing to ask.
func (l *Listener) enqueue(r *lockRequest) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.release {
		if !l.held[r.key] {
			return false
		}
		delete(l.held, r.key)
	} else if !l.hears || l.held[r.key] {
		return false
	}
	l.requests = append(l.requests, r)
	l.poke()
	return true
}

// nextRequest takes the oldest request; nil when there is none.
func (l *Listener) nextRequest() *lockRequest {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.requests) == 0 {
		return nil
	}
	next := l.requests[0]
	l.requests = l.requests[1:]
	return next
}

// settle does what a request asks for. Its error means that the connection is lost.
func (s *session) settle(ctx context.Context, r *lockRequest) error {
	sql := "select pg_try_advisory_lock($1)"
	if r.release {
		sql = "select pg_advisory_unlock($1)"
	} else if s.Held(r.key) { // Postgres would let the same session in again
		s.reply(r, false, nil)
		return nil
	}
	ok, err := s.queryBool(ctx, sql, r.key)
	if s.conn.IsClosed() {
		s.reply(r, false, nil)
		return fmt.Errorf("the listening connection was lost: %w", err)
	}
	if kept := s.reply(r, ok, err); ok && !kept {
		return s.unlock(ctx, r.key)
	}
	return nil
}

// reply answers a request. It says whether a lock that was taken is kept: not when nobody waits
// for it any more, and not when the listener has become deaf meanwhile.
func (s *session) reply(r *lockRequest, ok bool, err error) (kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept = !ok || r.release || s.hears && !r.abandoned
	if ok && kept && !r.release {
		s.held[r.key] = true
	}
	r.answer(ok && kept, err)
	return kept
}

// unlock releases a lock that nobody waits for. Its error means that the connection is lost.
func (s *session) unlock(ctx context.Context, key int64) error {
	if _, err := s.queryBool(ctx, "select pg_advisory_unlock($1)", key); err != nil && s.conn.IsClosed() {
		return fmt.Errorf("the listening connection was lost: %w", err)
	}
	return nil
}

func (s *session) queryBool(ctx context.Context, sql string, args ...any) (ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.PingTimeout)
	defer cancel()
	err = s.conn.QueryRow(ctx, sql, args...).Scan(&ok)
	return ok, err
}
