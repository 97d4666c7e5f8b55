package postbustest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/webhooks/verify"
)

// Receiver is an HTTP server that takes webhooks, for tests. It is on loopback, which Config.Webhooks.Allow must name:
// "127.0.0.1".
type Receiver struct {
	// URL is where it listens.
	URL string

	server *httptest.Server

	mu       sync.Mutex
	verifier *verify.Verifier
	answer   func(Message) Answer
	got      []Message
	inFlight int
	most     int
}

// Message is one request that a Receiver took.
type Message struct {
	// ID is webhook-id: the event's id.
	ID string `json:"id"`
	// Type, Subject, OccurredAt and Data are the payload's.
	Type       string          `json:"type"`
	Subject    string          `json:"subject"`
	OccurredAt time.Time       `json:"occurred_at"`
	Data       json.RawMessage `json:"data"`

	// Unverified is why the signature does not hold; nil where it does. Without Trust nothing holds.
	Unverified error `json:"-"`
	// Header, Body and At are the request's, N counts the requests from 1.
	Header http.Header `json:"-"`
	Body   []byte      `json:"-"`
	At     time.Time   `json:"-"`
	N      int         `json:"-"`
}

// Answer is what a Receiver answers. The zero value is 200 with no body, at once.
type Answer struct {
	Status int
	Header map[string]string
	Body   string
	// Wait is how long the answer takes. It ends early when the client gives up.
	Wait time.Duration
}

const maxMessage = 20 << 20 // bytes; events have at most 16 MiB

// NewReceiver starts a receiver that ends with the test.
func NewReceiver(t testing.TB) *Receiver {
	r := &Receiver{}
	r.server = httptest.NewServer(r)
	r.URL = r.server.URL
	t.Cleanup(r.server.Close)
	return r
}

// Trust says with which secrets, or public keys, messages must be signed.
func (r *Receiver) Trust(t testing.TB, secrets ...string) {
	t.Helper()
	v, err := verify.New(secrets...)
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.verifier = v
}

// Answer decides what each message is answered.
func (r *Receiver) Answer(answer func(Message) Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// Messages are all requests so far, in the order of their arrival.
func (r *Receiver) Messages() []Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Message(nil), r.got...)
}

// Forget begins again.
func (r *Receiver) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got, r.most = nil, r.inFlight
}

// MostInFlight is how many requests were under way at the same time, at most.
func (r *Receiver) MostInFlight() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.most
}

// WaitFor waits until n requests have come, and answers all of them. The test fails when they do not come in time.
func (r *Receiver) WaitFor(t testing.TB, n int, within time.Duration) []Message {
	t.Helper()
	var got []Message
	wait.Eventually(t, within, func() (bool, string) {
		got = r.Messages()
		return len(got) >= n, "the receiver has not got as many webhooks as expected"
	})
	return got
}

// ServeHTTP takes one webhook.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	answer := r.take(req)
	defer r.leave()
	if answer.Wait > 0 {
		timer := time.NewTimer(answer.Wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-req.Context().Done():
			return
		}
	}
	for name, value := range answer.Header {
		w.Header().Set(name, value)
	}
	if answer.Status == 0 {
		answer.Status = http.StatusOK
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write([]byte(answer.Body))
}

func (r *Receiver) take(req *http.Request) Answer {
	r.mu.Lock()
	r.inFlight++
	r.most = max(r.most, r.inFlight)
	verifier := r.verifier
	r.mu.Unlock()

	m := read(verifier, req)
	r.mu.Lock()
	m.N = len(r.got) + 1
	r.got = append(r.got, m)
	answer := r.answer
	r.mu.Unlock()
	if answer == nil {
		return Answer{}
	}
	return answer(m)
}

func (r *Receiver) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight--
}

// read takes the payload from a request. One that cannot be read has an error in place of it.
func read(verifier *verify.Verifier, req *http.Request) Message {
	body, err := io.ReadAll(io.LimitReader(req.Body, maxMessage))
	var m Message
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	m.Header, m.Body, m.At, m.Unverified = req.Header.Clone(), body, time.Now(), err
	switch {
	case err != nil:
	case verifier == nil:
		m.Unverified = errors.New("the receiver trusts no secret: call Trust")
	default:
		_, m.Unverified = verifier.Verify(req.Header, body)
	}
	m.ID = req.Header.Get("Webhook-Id")
	return m
}
