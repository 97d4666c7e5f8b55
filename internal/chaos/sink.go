package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/postbus/postbus/webhooks/verify"
)

// sink receives webhooks, is not always well, and keeps a log.
type sink struct {
	addr   string
	server *http.Server

	mu        sync.Mutex
	random    *rand.Rand
	verifiers map[string]*verify.Verifier // by endpoint
	status    int                         // what everything is answered; 0 for as it comes
	calm      bool
	took      []taken
}

// taken is one request. Fault says what is wrong with it; "" where nothing is.
type taken struct {
	endpoint, event, subject string
	status                   int // as it was decided; 0 where the connection was ended instead
	fault                    string
	at                       time.Time
}

func newSink(seed uint64) (*sink, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("chaos: sink: %w", err)
	}
	s := &sink{
		addr: listener.Addr().String(), random: rand.New(rand.NewPCG(seed, 2)), verifiers: map[string]*verify.Verifier{},
	}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

func (s *sink) close() { _ = s.server.Close() }

func (s *sink) trust(endpoint, secret string) error {
	v, err := verify.New(secret)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verifiers[endpoint] = v
	return nil
}

// always answers everything with one status, until it is told 0.
func (s *sink) always(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

// calmDown ends all faults of its own.
func (s *sink) calmDown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calm, s.status = true, 0
}

// ServeHTTP takes one webhook.
func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	endpoint := strings.TrimPrefix(r.URL.Path, "/")
	t := taken{endpoint: endpoint, event: r.Header.Get("webhook-id"), at: time.Now()}
	s.mu.Lock()
	verifier := s.verifiers[endpoint]
	s.mu.Unlock()
	if verifier == nil {
		http.NotFound(w, r)
		return
	}
	_, body, err := verifier.Request(r, 1<<20)
	var payload struct{ ID, Subject string }
	switch {
	case errors.Is(err, verify.ErrSignature), errors.Is(err, verify.ErrTimestamp), errors.Is(err, verify.ErrMissingHeader):
		t.fault = err.Error()
	case err != nil: // cut in the middle: nothing was received
		w.WriteHeader(http.StatusBadRequest)
		return
	case json.Unmarshal(body, &payload) != nil || payload.ID != t.event:
		t.fault = "the payload is not that of its webhook-id"
	}
	t.subject = payload.Subject
	wait := s.decide(&t)
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		<-timer.C
	}
	s.answer(w, t)
}

// decide answers how long the answer takes, and puts the request on record.
func (s *sink) decide(t *taken) (wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.status = http.StatusOK
	chance := s.random.IntN(100)
	switch {
	case t.fault != "":
		t.status = http.StatusUnauthorized
	case s.status != 0:
		t.status = s.status
	case s.calm:
	case chance < 5:
		t.status = http.StatusInternalServerError
	case chance < 6:
		t.status = http.StatusTooManyRequests
	case chance < 9:
		t.status = 0
	case chance < 12:
		wait = time.Duration(s.random.IntN(3000)) * time.Millisecond // some are too late
	}
	s.took = append(s.took, *t)
	return wait
}

func (s *sink) answer(w http.ResponseWriter, t taken) {
	switch t.status {
	case 0:
		panic(http.ErrAbortHandler)
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(t.status)
}

// log is all requests so far.
func (s *sink) log() []taken {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]taken(nil), s.took...)
}
