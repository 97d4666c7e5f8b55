package receiver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/postbus/postbus/webhooks/verify"
)

// maxBody bounds a webhook: an event's data has at most 256 KiB here.
const maxBody = 1 << 20

// Receiver takes webhooks. Close it.
type Receiver struct {
	verifier *verify.Verifier
	journal  *journal
	say      func(line string)
	since    time.Time

	mu          sync.Mutex
	refused     int
	lastRefusal string
}

// Open makes a receiver that keeps its messages in a file. say gets one line for each webhook that comes.
func Open(file string, verifier *verify.Verifier, say func(line string)) (*Receiver, error) {
	j, err := openJournal(file)
	if err != nil {
		return nil, err
	}
	return &Receiver{verifier: verifier, journal: j, say: say, since: time.Now().UTC()}, nil
}

// Close lets go of the file. Nothing may be under way any more.
func (r *Receiver) Close() error { return r.journal.close() }

// Count answers how many messages are kept.
func (r *Receiver) Count() int { return len(r.journal.messages("")) }

// Handler answers POST / and GET /received.
func (r *Receiver) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{$}", r.take)
	mux.HandleFunc("GET /received", r.received)
	return mux
}

func (r *Receiver) take(w http.ResponseWriter, req *http.Request) {
	verified, body, err := r.verifier.Request(req, maxBody)
	if err != nil {
		r.refuse(w, refusalStatus(err), err)
		return
	}
	m, err := read(verified, body, time.Now())
	if err != nil {
		r.refuse(w, http.StatusUnprocessableEntity, err)
		return
	}
	if m, err = r.journal.keep(m); err != nil {
		r.say(fmt.Sprintf("failed    %s could not be kept: %v", plain(m.ID), err))
		http.Error(w, "the message could not be kept; send it again", http.StatusInternalServerError)
		return
	}
	r.say(m.line())
	w.WriteHeader(http.StatusNoContent)
}

func refusalStatus(err error) int {
	switch {
	case errors.Is(err, verify.ErrTimestamp), errors.Is(err, verify.ErrSignature):
		return http.StatusUnauthorized
	case errors.Is(err, verify.ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}

func (r *Receiver) refuse(w http.ResponseWriter, status int, err error) {
	r.mu.Lock()
	r.refused++
	r.lastRefusal = err.Error()
	r.mu.Unlock()
	r.say(fmt.Sprintf("refused   %s with %d: %v", time.Now().UTC().Format("15:04:05.000"), status, err))
	http.Error(w, err.Error(), status)
}

// Received is what GET /received answers.
type Received struct {
	// Since is when this process began; Repeated, Refused and LastRefusal are of it alone.
	Since time.Time `json:"since"`
	// Kept counts the messages, each verified and each once.
	Kept        int    `json:"kept"`
	Repeated    int    `json:"repeated"`
	Refused     int    `json:"refused"`
	LastRefusal string `json:"last_refusal,omitempty"`
	// Subjects has the messages by subject, in the order in which they came.
	Subjects map[string][]Message `json:"subjects"`
}

func (r *Receiver) received(w http.ResponseWriter, req *http.Request) {
	out := Received{Since: r.since, Subjects: map[string][]Message{}}
	for _, m := range r.journal.messages(req.FormValue("subject")) {
		out.Kept++
		out.Repeated += m.Repeats
		out.Subjects[m.Subject] = append(out.Subjects[m.Subject], m)
	}
	r.mu.Lock()
	out.Refused, out.LastRefusal = r.refused, r.lastRefusal
	r.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(out) // the caller has gone: nothing to do about it
}
