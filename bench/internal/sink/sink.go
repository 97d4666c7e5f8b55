package sink

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/postbus/postbus/internal/loop"
)

// Sink is a receiver on loopback, whose host is [Host].
type Sink struct {
	// URL is its address without a path. Every path takes webhooks.
	URL string

	wait    time.Duration
	server  *http.Server
	serving sync.WaitGroup
	end     chan struct{} // closed by Stop

	mu       sync.Mutex
	hung     map[string]bool
	seen     map[delivery]bool
	arrivals []Arrival
	again    int
	ended    time.Time // of the last answer
}

// Host is where sinks are.
const Host = "127.0.0.1"

// Arrival is the first request of a delivery.
type Arrival struct {
	Path, ID, Subject string
	At                time.Time
}

type delivery struct{ path, id string }

// Start begins to listen. An answer takes wait.
func Start(wait time.Duration) (*Sink, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(Host, "0"))
	if err != nil {
		return nil, err
	}
	s := &Sink{
		URL: "http://" + listener.Addr().String(), wait: wait, end: make(chan struct{}),
		hung: map[string]bool{}, seen: map[delivery]bool{},
	}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	s.serving.Go(func() { _ = s.server.Serve(listener) })
	return s, nil
}

// Stop ends it; what hangs is cut off.
func (s *Sink) Stop() {
	close(s.end)
	_ = s.server.Close()
	s.serving.Wait()
}

// Hang makes requests to the paths hang from now on.
func (s *Sink) Hang(paths ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range paths {
		s.hung[path] = true
	}
}

// ServeHTTP takes one webhook.
func (s *Sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if s.note(Arrival{Path: r.URL.Path, ID: r.Header.Get("Webhook-Id"), Subject: subjectOf(body), At: at}) {
		s.hang(r.Context())
		return
	}
	if loop.Sleep(r.Context(), s.wait) == nil {
		w.WriteHeader(http.StatusOK)
		s.answered()
	}
}

// note answers whether the request hangs; those do not count.
func (s *Sink) note(a Arrival) (hangs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := delivery{a.Path, a.ID}
	switch {
	case s.hung[a.Path]:
		return true
	case s.seen[d]:
		s.again++
	default:
		s.seen[d] = true
		s.arrivals = append(s.arrivals, a)
	}
	return false
}

// hang keeps the connection and answers nothing.
func (s *Sink) hang(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.end:
	}
	panic(http.ErrAbortHandler)
}

func (s *Sink) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = time.Now()
}

// Count is how many deliveries have come, Again how many requests came on top of them.
func (s *Sink) Count() (n, again int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.arrivals), s.again
}

// Arrivals are the deliveries that have come, the first one first.
func (s *Sink) Arrivals() []Arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Arrival(nil), s.arrivals...)
}

// Took is the time from the first request to the last answer.
func (s *Sink) Took() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.arrivals) == 0 {
		return 0
	}
	return s.ended.Sub(s.arrivals[0].At)
}

// subjectOf reads a payload's subject without its data: the subjects here need no escapes.
func subjectOf(body []byte) string {
	_, rest, _ := strings.Cut(string(body), `"subject":"`)
	subject, _, _ := strings.Cut(rest, `"`)
	return subject
}
