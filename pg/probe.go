package pg

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"time"
)

// probe is what a session knows of its test: a notification is sent through the pool, and must
// arrive at the listening connection.
type probe struct {
	channel string // of this session alone
	token   string // the payload sent last
	phase   probePhase
	due     time.Time // when to act next
}

type probePhase int

const (
	probeIdle    probePhase = iota // until due, then a probe is sent
	probeSending                   // the sender reports
	probeSent                      // until due, then the listener is deaf
)

// sentProbe is the sender's report.
type sentProbe struct {
	token string
	err   error
}

// advanceProbe does what is due. Its error means that the connection is lost.
func (s *session) advanceProbe(ctx context.Context) error {
	p, now := &s.probe, time.Now()
	if sent := s.takeSent(); sent != nil && sent.token == p.token && p.phase == probeSending {
		p.phase, p.due = probeSent, now.Add(s.config.ProbeTimeout)
		if sent.err != nil { // says nothing about hearing: the pool may be exhausted
			p.phase = probeIdle
			s.config.Log.DebugContext(ctx, "the listener's probe could not be sent", "error", sent.err)
		}
	}
	if now.Before(p.due) {
		return nil
	}
	if p.phase == probeSent {
		p.phase, p.due = probeIdle, now.Add(s.config.ProbeEvery)
		return s.turnDeaf(ctx)
	}
	p.token, p.phase = rand.Text(), probeSending
	p.due = now.Add(3 * s.config.ProbeTimeout) // the sender reports earlier than that
	s.send(ctx, p.channel, p.token)
	return nil
}

// send sends a probe from another goroutine: the pool may let it wait.
func (s *session) send(ctx context.Context, channel, token string) {
	s.sender.Start(ctx, func(ctx context.Context) {
		sending, cancel := context.WithTimeout(ctx, s.config.ProbeTimeout)
		defer cancel()
		err := Notify(sending, s.pool, channel, token)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sent = &sentProbe{token, err}
		s.poke()
	})
}

func (s *session) takeSent() *sentProbe {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent
	s.sent = nil
	return sent
}

// probeArrived notes that the connection hears. A probe that arrives late counts, too.
func (s *session) probeArrived(ctx context.Context, token string) {
	if token != s.probe.token {
		return
	}
	s.probe.phase, s.probe.due = probeIdle, time.Now().Add(s.config.ProbeEvery)
	if !s.proven {
		s.proven = true
		s.settleIn(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deaf {
		s.config.Log.InfoContext(ctx, "the listener hears notifications again")
		s.resync(slices.Collect(maps.Keys(s.subs))...)
	}
	s.hears, s.deaf = true, false
	s.noteState()
}

// settleIn asks the server to find out within half a minute when we are gone without a word, so
// that our locks do not outlive us by hours, and not to mind that we are idle. A server that
// refuses is no worse than before.
func (s *session) settleIn(ctx context.Context) {
	_ = s.exec(ctx, "set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3; "+
		"set idle_session_timeout = 0")
}

// turnDeaf notes that the connection does not hear, and gives its locks back. Its error means that
// the connection is lost.
func (s *session) turnDeaf(ctx context.Context) error {
	s.mu.Lock()
	if !s.deaf {
		s.config.Log.WarnContext(ctx, "notifications do not arrive, as behind a pooler in transaction mode; "+
			"everything works by polling, only later: give Postbus a direct connection or a pooler in session mode")
	}
	s.hears, s.deaf = false, true
	s.noteState()
	var keys []int64
	for key := range s.held {
		keys = append(keys, key)
	}
	clear(s.held)
	s.resync(slices.Collect(maps.Keys(s.subs))...) // what came since the last probe may be missing
	s.mu.Unlock()
	for _, key := range keys {
		if err := s.unlock(ctx, key); err != nil {
			return err
		}
	}
	return nil
}
