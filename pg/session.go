package pg

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// session is one connection of a listener, from its making to its loss. Its methods run on the
// listener's goroutine.
type session struct {
	*Listener
	conn     *pgx.Conn
	backend  backend
	nextPing time.Time
	probe    probe
	proven   bool // a probe arrived: no pooler hands our backend to others
}

// backend names a session of the server beyond doubt.
type backend struct {
	pid   int32
	start time.Time
}

// connect makes the connection and ends the one before it, which the server may still believe to
// be alive: its locks would be in the way until the server's own keepalives find out.
func (l *Listener) connect(ctx context.Context, lost *backend) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*l.config.PingTimeout)
	defer cancel()
	config, err := l.connConfig(ctx)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["application_name"] = "postbus-listener"
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // no prepared statements: there may be a pooler
	config.OnNotification = nil                         // else WaitForNotification gets none
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	s := &session{Listener: l, conn: conn, nextPing: time.Now().Add(l.config.PingEvery)}
	if err := s.introduce(ctx, lost); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// connConfig is a copy of how to connect, which the caller may change.
func (l *Listener) connConfig(ctx context.Context) (*pgx.ConnConfig, error) {
	if l.config.Conn != nil {
		return l.config.Conn.Copy(), nil
	}
	pool := l.pool.Config()
	if pool.BeforeConnect == nil {
		return pool.ConnConfig, nil
	}
	return pool.ConnConfig, pool.BeforeConnect(ctx, pool.ConnConfig) // passwords that expire
}

func (s *session) introduce(ctx context.Context, lost *backend) error {
	if lost != nil {
		_, err := s.conn.Exec(ctx, `
			select pg_terminate_backend(pid) from pg_stat_activity
			where pid = $1 and backend_start = $2 and usename = current_user
				and application_name = current_setting('application_name') and state = 'idle'`, lost.pid, lost.start)
		if err != nil && s.conn.IsClosed() {
			return err
		}
	}
	err := s.conn.QueryRow(ctx, "select pid, backend_start from pg_stat_activity where pid = pg_backend_pid()").
		Scan(&s.backend.pid, &s.backend.start)
	if err != nil {
		return err
	}
	s.probe.channel = "postbus_probe_" + strings.ToLower(rand.Text())
	_, err = s.conn.Exec(ctx, "listen "+quoteName(s.probe.channel))
	return err
}

func (s *session) setInterrupt(interrupt context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt = interrupt
}

// serve does what is asked and waits for notifications in between, until the connection is lost
// or ctx ends. Then it closes the connection.
func (s *session) serve(ctx context.Context) error {
	defer s.end()
	for {
		// The wait can be interrupted from here on, so that nothing asked for after the look at
		// the requests below waits for a notification.
		wait, interrupt := context.WithCancel(ctx)
		s.setInterrupt(interrupt)
		err := s.work(ctx)
		if err == nil {
			err = s.hear(ctx, wait)
		}
		interrupt()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// work does what is due besides waiting.
func (s *session) work(ctx context.Context) error {
	for request := s.nextRequest(); request != nil; request = s.nextRequest() {
		if err := s.settle(ctx, request); err != nil {
			return err
		}
	}
	if err := s.followSubscriptions(ctx); err != nil {
		return err
	}
	if err := s.advanceProbe(ctx); err != nil {
		return err
	}
	if time.Now().Before(s.nextPing) {
		return nil
	}
	s.nextPing = time.Now().Add(s.config.PingEvery)
	return s.exec(ctx, "-- ping")
}

// hear waits for one notification, until the next thing is due or asked for.
func (s *session) hear(ctx, wait context.Context) error {
	due := s.nextPing
	if s.probe.due.Before(due) {
		due = s.probe.due
	}
	wait, cancel := context.WithDeadline(wait, due)
	defer cancel()
	n, err := s.conn.WaitForNotification(wait)
	if n != nil {
		if n.Channel == s.probe.channel {
			s.probeArrived(ctx, n.Payload)
		} else {
			s.dispatch(Notification{Channel: n.Channel, Payload: n.Payload})
		}
	}
	// pgx keeps a connection whose wait was ended by its context.
	if err != nil && wait.Err() != nil && !s.conn.IsClosed() {
		return nil
	}
	return err
}

// exec runs statements that return nothing, within the time that a ping may take.
func (s *session) exec(ctx context.Context, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.PingTimeout)
	defer cancel()
	_, err := s.conn.PgConn().Exec(ctx, sql).ReadAll()
	return err
}

// followSubscriptions makes the connection listen where somebody is subscribed.
func (s *session) followSubscriptions(ctx context.Context) error {
	listen, unlisten := s.difference()
	if len(listen)+len(unlisten) == 0 {
		return nil
	}
	var sql strings.Builder
	for _, channel := range unlisten {
		fmt.Fprintf(&sql, "unlisten %s;", quoteName(channel))
	}
	for _, channel := range listen {
		fmt.Fprintf(&sql, "listen %s;", quoteName(channel))
	}
	if err := s.exec(ctx, sql.String()); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, channel := range listen {
		s.listening[channel] = true
	}
	s.resync(listen...)
	return nil
}

// difference returns where LISTEN is missing, and where it is no longer wanted. The latter are
// forgotten at once, so that somebody who subscribes now makes a new LISTEN necessary.
func (s *session) difference() (listen, unlisten []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.changed {
		return nil, nil
	}
	s.changed = false
	for channel := range s.subs {
		if !s.listening[channel] {
			listen = append(listen, channel)
		}
	}
	for _, channel := range slices.Collect(maps.Keys(s.listening)) {
		if s.subs[channel] == nil {
			unlisten = append(unlisten, channel)
			delete(s.listening, channel)
		}
	}
	return listen, unlisten
}

// end closes the connection and lets nobody believe in it any longer.
func (s *session) end() {
	s.mu.Lock()
	s.hears, s.interrupt, s.sent = false, nil, nil
	s.noteState()
	s.changed = true
	clear(s.listening)
	clear(s.held)
	for _, request := range s.requests {
		request.answer(false, nil)
	}
	s.requests = nil
	s.mu.Unlock()
	s.sender.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.conn.Close(ctx)
}
