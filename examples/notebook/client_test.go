package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/postbus/postbus/internal/wait"
)

// answer is what the JSON API says.
type answer struct {
	Status  int
	Body    string
	Note    struct{ ID, Title string }
	Indexed bool
	JobID   string `json:"job_id"`
	State   string
	Error   string
	Total   int
	Hits    []struct {
		Note struct{ ID string }
	}
}

// call speaks JSON to the pages.
func call(t *testing.T, method, address string, body any) (a answer) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &a); err != nil {
		t.Errorf("%s %s answers %s: %q", method, address, resp.Status, text)
	}
	a.Status, a.Body = resp.StatusCode, string(text)
	return a
}

func write(t *testing.T, base, title, body string) answer {
	t.Helper()
	a := call(t, http.MethodPost, base+"/notes", map[string]string{"title": title, "body": body})
	if a.Status != http.StatusCreated {
		t.Fatalf("POST answers %d: %s", a.Status, a.Body)
	}
	return a
}

// found answers the ids of the notes with the words. The pages leave out what the index still has of a deleted note: it
// counts here as "stale".
func found(t *testing.T, base, words string) []string {
	t.Helper()
	a := call(t, http.MethodGet, base+"/search?q="+url.QueryEscape(words), nil)
	ids := []string{}
	for _, h := range a.Hits {
		ids = append(ids, h.Note.ID)
	}
	for len(ids) < min(a.Total, 20) {
		ids = append(ids, "stale")
	}
	return ids
}

// eventuallyFound waits until exactly the notes are found by the words.
func eventuallyFound(t *testing.T, base, words string, ids ...string) {
	t.Helper()
	wait.Eventually(t, patience, func() (bool, string) {
		got := found(t, base, words)
		return strings.Join(got, " ") == strings.Join(ids, " "), fmt.Sprintf("%q finds %v, want %v", words, got, ids)
	})
}

// get reads a page as a browser would.
func get(t *testing.T, address string) string {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
