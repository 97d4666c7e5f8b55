package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/postbus/postbus/examples/notebook/building"
	"github.com/postbus/postbus/examples/notebook/note"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
)

// builds asks for the builds behind one, waiting for some.
func builds(t *testing.T, base string, after int64) []note.Build {
	t.Helper()
	a := call(t, http.MethodGet, base+"/builds?wait=30s&after="+strconv.FormatInt(after, 10), nil)
	var said struct{ Builds []note.Build }
	if err := json.Unmarshal([]byte(a.Body), &said); err != nil || a.Status != http.StatusOK {
		t.Fatalf("builds: %d %s", a.Status, a.Body)
	}
	return said.Builds
}

// page answers the text of a page of the site, "" where there is none.
func page(t *testing.T, base, id string) string {
	t.Helper()
	resp, err := http.Get(base + "/site/" + id)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return ""
	}
	html, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(html)
}

func pageHas(t *testing.T, base, id, want string) {
	t.Helper()
	wait.Eventually(t, patience, func() (bool, string) {
		got := page(t, base, id)
		return strings.Contains(got, want), "the page has no " + want + ":\n" + got
	})
}

func needsNode(t *testing.T) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s on this machine; make drivers installs it", program)
		}
	}
}

// A published note is built by the Node worker, whoever waits for it in another process is told, and its page is served there. What
// is written while every builder is dead is built when one is back.
func TestSiteIsBuiltByAWorkerInAnotherLanguage(t *testing.T) {
	t.Parallel()
	needsNode(t)
	database, data := testdb.EmptyURL(t), t.TempDir()
	_, searchURL := searchService(t, "127.0.0.1:0", t.TempDir())
	flags := []string{"--database-url", database, "--search-url", searchURL, "--data", data}
	withBuilder := append(flags, "--builder")
	first, base := demoPages(t, withBuilder...)
	_, other := demoPages(t, flags...)
	first.said(t, builderLine+"ready")

	n := write(t, base, "Harvest", "cut the *barley* <script>alert(1)</script>\n\n![a field](https://pictures.example/field.png)")
	answered := make(chan []note.Build, 1)
	go func() { answered <- builds(t, other, 0) }()
	call(t, http.MethodPost, base+"/notes/"+n.Note.ID+"/publish", nil)
	got := <-answered
	if len(got) != 1 || got[0].NoteID != n.Note.ID || got[0].Outcome != "built" {
		t.Fatalf("builds %+v", got)
	}
	t.Logf("the long poll in another process was answered %s after the build had settled", time.Since(got[0].SettledAt))
	pageHas(t, other, n.Note.ID, "<em>barley</em>")
	if html := page(t, other, n.Note.ID); strings.Contains(html, "<script>alert") || !strings.Contains(html, "&lt;script&gt;") {
		t.Errorf("raw HTML of a note is not text:\n%s", html)
	}
	pageHas(t, other, n.Note.ID, "shows 1 from elsewhere")

	// The builder is killed over and over while notes are edited.
	for range 3 {
		kill(t, first)
		call(t, http.MethodPut, base+"/notes/"+n.Note.ID, map[string]string{"title": "Harvest", "body": "cut the **rye**"})
	}
	pageHas(t, other, n.Note.ID, "<strong>rye</strong>")

	// Every process that builds is away, and what is written meanwhile waits.
	first.kill()
	call(t, http.MethodPut, other+"/notes/"+n.Note.ID, map[string]string{"title": "Harvest", "body": "cut the **oats**"})
	late := write(t, other, "Late", "sown late")
	call(t, http.MethodPost, other+"/notes/"+late.Note.ID+"/publish", nil)
	demoPages(t, withBuilder...)
	pageHas(t, other, n.Note.ID, "<strong>oats</strong>")
	pageHas(t, other, late.Note.ID, "sown late")

	call(t, http.MethodPost, other+"/notes/"+late.Note.ID+"/withdraw", nil)
	wait.Eventually(t, patience, func() (bool, string) {
		return page(t, other, late.Note.ID) == "", "a page of a note that was withdrawn"
	})
	// Nothing is left behind: each event has its job, and each job has ended well.
	in := inspect(t, database)
	wait.Eventually(t, patience, func() (bool, string) {
		overview, err := in.Overview(t.Context(), building.Build)
		if err != nil {
			t.Fatal(err)
		}
		left := overview.Kinds[building.Build]
		return left == jobs.KindCounts{}, fmt.Sprintf("left of the builds: %+v", left)
	})
}

// kill ends the builder of a notebook process as a crash would, and waits for the next.
func kill(t *testing.T, of *process) {
	t.Helper()
	ready := func() []string {
		var pids []string
		for line := range strings.Lines(of.output()) {
			if rest, ok := strings.CutPrefix(line, builderLine+"ready, process "); ok {
				pids = append(pids, strings.TrimSpace(rest))
			}
		}
		return pids
	}
	before := ready()
	pid, err := strconv.Atoi(before[len(before)-1])
	if err != nil {
		t.Fatal(err)
	}
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Signal(syscall.SIGKILL)
	}
	wait.Eventually(t, patience, func() (bool, string) { return len(ready()) > len(before), "no builder comes back:\n" + of.output() })
}

func TestBuildsRefusesBadInput(t *testing.T) {
	t.Parallel()
	_, base := demoPages(t, "--database-url", testdb.EmptyURL(t), "--data", t.TempDir())
	for query, want := range map[string]int{
		"": http.StatusOK, "after=0&wait=0s": http.StatusOK, "after=x": http.StatusBadRequest, "after=-1": http.StatusBadRequest,
		"wait=2h": http.StatusBadRequest, "wait=soon": http.StatusBadRequest,
	} {
		if a := call(t, http.MethodGet, base+"/builds?"+query, nil); a.Status != want {
			t.Errorf("builds?%s answers %d: %s", query, a.Status, a.Body)
		}
	}
}
