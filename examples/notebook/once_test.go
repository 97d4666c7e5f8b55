package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postbus/postbus/internal/testdb"
)

// runOnce runs notebook demo --once and answers what it printed.
func runOnce(t *testing.T, want int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), append([]string{"demo", "--once"}, args...), &out, &errs)
	if code != want {
		t.Fatalf("exit %d, want %d:\n%s%s", code, want, out.String(), errs.String())
	}
	return out.String() + errs.String()
}

func contains(t *testing.T, output, want string) {
	t.Helper()
	if !strings.Contains(output, want) {
		t.Errorf("no %q in:\n%s", want, output)
	}
}

// A second run imports nothing new and records no event for unchanged notes; a lost index is filled again.
func TestASecondRunEmitsNothing(t *testing.T) {
	t.Parallel()
	const notes = 60
	folder, database, data := markdownFolder(t, notes), testdb.EmptyURL(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "bad.md"), []byte("# N\x00"), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"--import", folder, "--database-url", database, "--data", data}
	first := runOnce(t, 0, args...)
	contains(t, first, "61 files: 60 created, 0 changed, 0 unchanged, 1 skipped")
	contains(t, first, "bad.md\": invalid note: the body has a NUL at byte 3")
	contains(t, first, "notes 60, events 60, jobs 60, coalesced 0, discarded 0")
	contains(t, first, "60 of 60 notes, 60 of them by words")
	contains(t, first, "60 published, 60 events, 60 delivered, 60 verified by the receiver, 0 missing, 0 not ours, 0 repeated, 60 new")

	second := runOnce(t, 0, args...)
	contains(t, second, "0 created, 0 changed, 60 unchanged, 1 skipped")
	contains(t, second, "notes 60, events 0, jobs 0, coalesced 0, discarded 0")
	contains(t, second, "60 of 60 notes, 60 of them by words")
	contains(t, second, "60 published, 60 events, 60 delivered, 60 verified by the receiver, 0 missing, 0 not ours, 0 repeated, 0 new")

	if err := os.RemoveAll(filepath.Join(data, "index")); err != nil {
		t.Fatal(err)
	}
	third := runOnce(t, 0, args...)
	contains(t, third, "events 0, jobs 0")
	contains(t, third, "60 of 60 notes, 60 of them by words")
}

// Where the index does not come up in time, the run says what is left to do and fails.
func TestOnceFailsWhenNotesCannotBeFound(t *testing.T) {
	t.Parallel()
	output := runOnce(t, 1, "--import", markdownFolder(t, 3), "--database-url", testdb.EmptyURL(t),
		"--search-url", "http://127.0.0.1:1", "--data", t.TempDir(), "--timeout", "3s")
	contains(t, output, "is the search service up?")
}

// It exits 0 only if every note is findable: a search service that takes everything and keeps nothing is found out.
func TestOnceLooksForEveryNote(t *testing.T) {
	t.Parallel()
	forgetful := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/lacking" {
			fmt.Fprint(w, "[]")
			return
		}
		fmt.Fprint(w, "{}")
	}))
	defer forgetful.Close()
	output := runOnce(t, 1, "--import", markdownFolder(t, 3), "--database-url", testdb.EmptyURL(t),
		"--search-url", forgetful.URL, "--data", t.TempDir())
	contains(t, output, "3 of 3 notes cannot be found")
}
