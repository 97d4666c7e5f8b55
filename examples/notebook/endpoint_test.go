package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postbus/postbus/examples/notebook/receiver"
	"github.com/postbus/postbus/internal/testdb"
)

// However often and in however many processes the notebook is started, there is one endpoint and one secret; the endpoint
// follows the receiver to another port.
func TestOneEndpointWhoeverStarts(t *testing.T) {
	t.Parallel()
	database, data := testdb.EmptyURL(t), t.TempDir()
	_, searchURL := searchService(t, "127.0.0.1:0", t.TempDir())
	args := []string{"--database-url", database, "--search-url", searchURL, "--data", data, "--receipt-wait", patience.String()}
	first, base := demoPages(t, args...)
	sink := first.said(t, receiverLine)
	_, joined := demoPages(t, args...)
	a := write(t, joined, "Joined", "barley")
	press(t, joined, a.Note.ID, "publish")
	changes(t, sink, a.Note.ID, 1)
	contains(t, runOnce(t, 1, "--database-url", database, "--search-url", searchURL, "--data", t.TempDir()),
		"start it with the --data of the process that made it")
	contains(t, runOnce(t, 1, append(args, "--receiver-url", sink)...), "another notebook process looks after the receiver")
	secret := secretIn(t, data)

	first.stop()
	_ = first.cmd.Wait()
	taken, err := net.Listen("tcp", strings.TrimPrefix(sink, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	again, base2 := demoPages(t, args...)
	moved := again.said(t, receiverLine)
	edit(t, base2, a.Note.ID, "Moved")
	changes(t, moved, a.Note.ID, 2)
	if moved == sink || base == base2 {
		t.Errorf("the receiver is at %s again, which is taken", moved)
	}
	const endpoints = `select string_agg(url, ' ') from postbus.webhook_endpoints`
	if got := one[string](t, database, endpoints); got != moved {
		t.Errorf("endpoints: %s, want one at %s", got, moved)
	}
	if secretIn(t, data) != secret {
		t.Error("the secret has changed")
	}
}

// forgetful answers every webhook with success and drops the nth, before it is kept.
func forgetful(t *testing.T, n int) *httptest.Server {
	t.Helper()
	var mu sync.Mutex
	kept, came := receiver.Received{Subjects: map[string][]receiver.Message{}}, 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodGet {
			_ = json.NewEncoder(w).Encode(kept)
			return
		}
		var m struct {
			receiver.Message
			Data receiver.Message
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		if came++; came != n {
			m.Change, m.Version = m.Data.Change, m.Data.Version
			kept.Subjects[m.Subject] = append(kept.Subjects[m.Subject], m.Message)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// It exits 0 only if every webhook of a published note is at the receiver: one that was answered with success and dropped is
// found out, and so is one that nobody here has sent.
func TestOnceLooksForEveryWebhook(t *testing.T) {
	t.Parallel()
	output := runOnce(t, 1, "--database-url", testdb.EmptyURL(t), "--data", t.TempDir(), "--receiver-url", forgetful(t, 3).URL,
		"--import", markdownFolder(t, 5))
	contains(t, output, "5 published, 5 events, 5 delivered, 4 verified by the receiver, 1 missing, 0 not ours, 0 repeated, 5 new")
	contains(t, output, "is not at the receiver: delivered at attempt 1")

	private := runOnce(t, 0, "--database-url", testdb.EmptyURL(t), "--data", t.TempDir(), "--publish=false", "--import", markdownFolder(t, 2))
	contains(t, private, "0 published, 0 events, 0 delivered, 0 verified by the receiver, 0 missing, 0 not ours, 0 repeated, 0 new")

	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		m := receiver.Message{ID: "00000000-0000-0000-0000-000000000001", Subject: "nobody", OccurredAt: time.Now()}
		_ = json.NewEncoder(w).Encode(receiver.Received{Subjects: map[string][]receiver.Message{"nobody": {m}}})
	}))
	defer stranger.Close()
	foreign := runOnce(t, 1, "--database-url", testdb.EmptyURL(t), "--data", t.TempDir(), "--receiver-url", stranger.URL)
	contains(t, foreign, "0 missing, 1 not ours")
}

// A receiver that does not answer in time is named, with what is still to be delivered.
func TestOnceFailsWhileTheReceiverIsAway(t *testing.T) {
	t.Parallel()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	defer broken.Close()
	output := runOnce(t, 1, "--database-url", testdb.EmptyURL(t), "--data", t.TempDir(), "--receiver-url", broken.URL,
		"--import", markdownFolder(t, 3), "--timeout", "15s")
	contains(t, output, "3 webhooks to "+broken.URL+" (pending, ")
}

// By hand: the receiver refuses what it must not start with.
func TestReceiveRefusesASecretThatOthersMayRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(markdownFolder(t, 1), "000.md") // its mode is 0644
	for args, want := range map[string]string{
		"--secret-file " + file:            "chmod 600",
		"--secret-file " + file + "x":      "no such file",
		"--secret v1,whsec_x":              "leave out all before",
		"--secret whsec_x --secret-file y": "one of --secret-file FILE and --secret",
		"":                                 "one of --secret-file FILE and --secret",
	} {
		var out, errs strings.Builder
		call := append([]string{"receive", "--listen", "127.0.0.1:0", "--data", t.TempDir()}, strings.Fields(args)...)
		if code := run(t.Context(), call, &out, &errs); code == 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit %d, %s", args, code, fmt.Sprint(errs.String()))
		}
	}
}
