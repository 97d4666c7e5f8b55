package main

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/internal/testdb"
)

// A write's answer carries its receipt: what it says is indexed can be found at once.
func TestWriteEditDeleteAndFind(t *testing.T) {
	t.Parallel()
	_, base := demoPages(t, "--database-url", testdb.EmptyURL(t), "--data", t.TempDir(), "--receipt-wait", patience.String())

	a := write(t, base, "Harvest", "cut the barley")
	if !a.Indexed || a.JobID == "" || a.State != "completed" {
		t.Errorf("receipt of a write: %s", a.Body)
	}
	if diff := cmp.Diff([]string{a.Note.ID}, found(t, base, "barley")); diff != "" {
		t.Error(diff)
	}
	note := base + "/notes/" + a.Note.ID
	edited := call(t, http.MethodPut, note, map[string]string{"title": "Harvest", "body": "cut the oats"})
	if !edited.Indexed || edited.JobID == a.JobID {
		t.Errorf("receipt of an edit: %s", edited.Body)
	}
	same := call(t, http.MethodPut, note, map[string]string{"title": "Harvest", "body": "cut the oats"})
	if !same.Indexed || same.JobID != edited.JobID {
		t.Errorf("receipt of an edit that changed nothing: %s", same.Body)
	}
	if old, now := found(t, base, "barley"), found(t, base, "oats"); len(old) != 0 || len(now) != 1 {
		t.Errorf("the old word finds %v, the new one %v", old, now)
	}
	if gone := call(t, http.MethodDelete, note, nil); !gone.Indexed {
		t.Errorf("receipt of a deletion: %s", gone.Body)
	}
	if got := found(t, base, "oats"); len(got) != 0 {
		t.Errorf("a deleted note is found: %v", got)
	}
	if again := call(t, http.MethodDelete, note, nil); again.Status != http.StatusNotFound {
		t.Errorf("deleting it twice: %d", again.Status)
	}
}

func TestPagesWorkWithoutScriptsAndEscape(t *testing.T) {
	t.Parallel()
	_, base := demoPages(t, "--database-url", testdb.EmptyURL(t), "--data", t.TempDir(), "--receipt-wait", patience.String())

	const evil = `<script>alert("x")</script>`
	resp, err := http.PostForm(base+"/notes", url.Values{"title": {evil + " & sickle"}, "body": {evil + " barley"}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	shown := get(t, resp.Request.URL.String())
	if !strings.Contains(shown, "Saved; indexed in") {
		t.Errorf("no receipt on the page after a write:\n%s", shown)
	}
	for _, page := range []string{shown, get(t, base), get(t, base+"/?q=barley"), get(t, base+"/?q="+url.QueryEscape(evil)), get(t, base+"/console")} {
		if strings.Contains(page, evil) {
			t.Errorf("not escaped:\n%s", page)
		}
	}
	if page := get(t, base+"/?q=barley"); !strings.Contains(page, "<mark>barley</mark>") {
		t.Errorf("the word found is not marked:\n%s", page)
	}
	id := resp.Request.URL.Path
	resp, err = http.PostForm(base+id+"/delete", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if page := get(t, resp.Request.URL.String()); !strings.Contains(page, "Deleted; out of the index in") {
		t.Errorf("no receipt on the page after a deletion:\n%s", page)
	}
}

func TestBadInputIsRefusedAndWritesNothing(t *testing.T) {
	t.Parallel()
	_, base := demoPages(t, "--database-url", testdb.EmptyURL(t), "--data", t.TempDir(), "--receipt-wait", patience.String())
	for _, c := range []struct {
		method, path string
		body         any
		want         int
	}{
		{"POST", "/notes", map[string]string{}, 400},
		{"POST", "/notes", map[string]string{"title": "a\x00b"}, 400},
		{"POST", "/notes", "no object", 400},
		{"POST", "/notes", map[string]string{"title": "a", "body": strings.Repeat("x", 1<<20+1)}, 400},
		{"POST", "/notes", map[string]string{"title": "a", "body": strings.Repeat("x", 5<<20)}, 413},
		{"PUT", "/notes/nonsense", map[string]string{"title": "a"}, 404},
		{"DELETE", "/notes/' or 1=1", nil, 404},
		{"GET", "/search?q=" + strings.Repeat("x", 2000), nil, 400},
	} {
		address := base + (&url.URL{Path: strings.Split(c.path, "?")[0]}).EscapedPath()
		if _, query, ok := strings.Cut(c.path, "?"); ok {
			address += "?" + query
		}
		if a := call(t, c.method, address, c.body); a.Status != c.want || a.Error == "" {
			t.Errorf("%s %.30s: %d %.200s, want %d and an error", c.method, c.path, a.Status, a.Body, c.want)
		}
	}
	req, _ := http.NewRequestWithContext(t.Context(), "POST", base+"/notes", strings.NewReader("title=x"))
	req.Header.Set("Origin", "http://elsewhere.example")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a write from another site answers %s", resp.Status)
	}
	if page := get(t, base); !strings.Contains(page, "0 notes") {
		t.Errorf("something was written:\n%s", page)
	}
}
