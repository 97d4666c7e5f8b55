package receiver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"github.com/postbus/postbus/examples/notebook/receiver"
	"github.com/postbus/postbus/webhooks/verify"
)

const key = "0123456789abcdef0123456789abcdef"

var secret = "whsec_" + base64.StdEncoding.EncodeToString([]byte(key))

// running is a receiver that listens, and what it said.
type running struct {
	*receiver.Receiver
	url string

	mu   sync.Mutex
	said []string
}

func begin(t *testing.T, file string) *running {
	t.Helper()
	verifier, err := verify.New(secret)
	if err != nil {
		t.Fatal(err)
	}
	r := &running{}
	r.Receiver, err = receiver.Open(file, verifier, func(line string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.said = append(r.said, line)
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(r.Handler())
	r.url = server.URL
	t.Cleanup(func() { server.Close(); _ = r.Close() })
	return r
}

// send posts a webhook that is signed with the key and answers the status.
func (r *running) send(t *testing.T, id, body, key string) int {
	t.Helper()
	at := fmt.Sprint(time.Now().Unix())
	mac := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("webhook-id", id)
	req.Header.Set("webhook-timestamp", at)
	req.Header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func message(id string) string {
	return fmt.Sprintf(`{"id":%q,"type":"notebook.note_published","subject":"n1","occurred_at":"2026-01-02T03:04:05Z","data":{"change":"changed","title":"A\u001b[2J","version":2}}`, id)
}

// It is kept once, remembered by the next process, and a line that a crash cut off is taken away.
func TestAMessageIsKeptOnceAndRemembered(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "received.jsonl")
	r := begin(t, file)
	for i, want := range []int{204, 204} {
		if got := r.send(t, "e1", message("e1"), key); got != want {
			t.Errorf("send %d answers %d", i, got)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil || bytes.Count(raw, []byte("\n")) != 1 {
		t.Fatalf("%q (%v), want one line", raw, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	torn := append(raw, []byte(`{"id":"e2","type"`)...)
	if err := os.WriteFile(file, torn, 0o600); err != nil {
		t.Fatal(err)
	}
	r = begin(t, file)
	r.send(t, "e1", message("e1"), key)
	r.send(t, "e2", message("e2"), key)
	got, err := receiver.Ask(t.Context(), r.url)
	if err != nil || got.Kept != 2 || got.Repeated != 1 || len(got.Subjects["n1"]) != 2 {
		t.Errorf("%+v (%v)", got, err)
	}
	for _, line := range r.said {
		if strings.Contains(line, "\x1b") || !strings.Contains(line, "n1 changed") || !strings.Contains(line, "verified") {
			t.Errorf("line %q", line)
		}
	}
	if !strings.HasSuffix(r.said[0], "repeat 1") {
		t.Errorf("line %q", r.said[0])
	}
	raw, err = os.ReadFile(file)
	for line := range bytes.Lines(raw) {
		if err != nil || !json.Valid(line) {
			t.Errorf("line %q (%v)", line, err)
		}
	}
}

// What is not signed with the secret, or is no webhook, is refused, counted and not kept.
func TestWhatDoesNotVerifyIsRefused(t *testing.T) {
	t.Parallel()
	r := begin(t, filepath.Join(t.TempDir(), "received.jsonl"))
	if got := r.send(t, "e1", message("e1"), strings.Repeat("x", 32)); got != http.StatusUnauthorized {
		t.Errorf("another key answers %d", got)
	}
	if got := r.send(t, "e1", message("e2"), key); got != http.StatusUnprocessableEntity {
		t.Errorf("another id answers %d", got)
	}
	if got := r.send(t, "e1", "barley", key); got != http.StatusUnprocessableEntity {
		t.Errorf("no webhook answers %d", got)
	}
	resp, err := http.Post(r.url, "application/json", strings.NewReader(message("e1")))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("no signature answers %d", resp.StatusCode)
	}
	got, err := receiver.Ask(t.Context(), r.url)
	if err != nil || got.Kept != 0 || got.Refused != 4 || got.LastRefusal == "" || len(r.said) != 4 {
		t.Errorf("%+v (%v), said %q", got, err, r.said)
	}
}

// A file belongs to one receiver.
func TestTwoReceiversDoNotShareAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "received.jsonl")
	begin(t, file)
	verifier, err := verify.New(secret)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := receiver.Open(file, verifier, nil); err == nil || !strings.Contains(err.Error(), "another receiver") {
		t.Errorf("opened twice: %v", err)
	}
}

// What could not be written is not answered with success, so that it comes again.
func TestWhatCannotBeKeptIsNotAccepted(t *testing.T) {
	t.Parallel()
	r := begin(t, filepath.Join(t.TempDir(), "received.jsonl"))
	_ = r.Close() // the file is gone from under it
	if got := r.send(t, "e1", message("e1"), key); got != http.StatusInternalServerError {
		t.Errorf("answers %d, want 500", got)
	}
	if got, err := receiver.Ask(t.Context(), r.url); err != nil || got.Kept != 0 {
		t.Errorf("%+v (%v)", got, err)
	}
}
