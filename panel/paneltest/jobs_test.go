package paneltest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postbus/postbus/internal/browser"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/ops"
)

// failed makes n jobs of the kind fail, and waits until they stand in the state.
func (h *house) failed(kind string, n int, state jobs.State) []string {
	h.t.Helper()
	h.work.fails.Store(true)
	ids := make([]string, n)
	for i := range ids {
		ids[i] = h.enqueue(kind, object{"n": i, "note_id": fmt.Sprint(i)})
	}
	for _, id := range ids {
		h.stands(id, state)
	}
	return ids
}

func (h *house) stands(id string, state jobs.State) {
	h.t.Helper()
	wait.Eventually(h.t, within, func() (bool, string) {
		is := do[ops.Task](h, "tasks.get", object{"id": id}).State
		return is == string(state), fmt.Sprintf("job %s is %s, want %s", id, is, state)
	})
}

// P1: the overview shows how many jobs wait for another attempt, how many failed for good, and since when the oldest waits.
func TestOverviewCounts(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	h.failed("work", 3, jobs.Retryable)
	h.failed("once", 1, jobs.Discarded)
	do[ops.Done](h, "tasks.pause", object{"queue": "default"})
	h.enqueue("work", object{})
	s := h.open("overview")
	s.shows("#count-retryable .n", "3")
	s.shows("#count-discarded .n", "1")
	s.shows("#count-pending .n", "1")
	s.wait(`/^waits for \d+ s$/.test(document.querySelector("#oldest-pending").innerText.trim())`)
	s.has("#alert-jobs_discarded", "Acknowledge")

	// What changes shows without a reload.
	script[any](s, `window.stayed = true`)
	h.work.fails.Store(false)
	do[ops.Done](h, "tasks.resume", object{"queue": "default"})
	s.shows("#count-pending .n", "0")
	s.shows("#oldest-pending", "nothing waits")
	if !script[bool](s, `window.stayed === true`) {
		t.Error("the page was loaded anew")
	}
}

// P2: filters by state, kind, time and args show only what they select, and survive reloading, going back and forward.
func TestJobFilters(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	retryable := h.failed("work", 3, jobs.Retryable)
	discarded := h.failed("once", 2, jobs.Discarded)
	s := h.open("jobs")
	rows := func(want ...string) {
		t.Helper()
		s.wait(`JSON.stringify([...document.querySelectorAll("[data-row]")].map((row) => row.dataset.row).sort()) ===
			JSON.stringify(` + list(want) + `.sort())`)
	}
	s.wait(`document.querySelectorAll("[data-row]").length >= 5`)
	s.wait(`[...document.querySelectorAll("#kinds-known option")].some((o) => o.value === "idle.kind")`) // it never ran

	s.click(`.tabs a.s-discarded`)
	rows(discarded...)
	s.click(`.tabs a.s-retryable`)
	rows(retryable...)
	s.typeIn(`[name="args"]`, `{"note_id": "1"}`)
	s.click(`.filters button[type="submit"]`)
	rows(retryable[1])
	s.wait(`location.search.includes("states=retryable") && location.search.includes("args=")`)

	s.h.must(s.Reload())
	rows(retryable[1])
	s.h.must(s.Back())
	rows(retryable...)
	s.h.must(s.Back())
	rows(discarded...)
	s.h.must(s.Forward())
	rows(retryable...)

	s.goTo(h.url + "jobs?kinds=once")
	rows(discarded...)
	s.goTo(h.url + "jobs?kinds=once&since=1h")
	rows(discarded...)
	s.goTo(h.url + "jobs?kinds=once&until=1h")
	s.has(".empty", "No job matches")
	s.goTo(h.url + "jobs?kinds=once&since=soon")
	s.has(".problem", `"soon" is no time`)
}

// list is a list of texts in JSON.
func list(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = quote(text)
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

// P3: a job's page shows the error of each attempt and when the next one is; "Retry now" runs it and its side effect happens;
// "Cancel" and it never does, while a sentinel job proves that the queue went on.
func TestRetryAndCancel(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	ids := h.failed("work", 2, jobs.Retryable)
	s := h.open("jobs?job=" + ids[0])
	s.has("#attempt-1", "the printer is on fire")
	s.wait(`/ UTC/.test(document.querySelector("#next-attempt").innerText) && / here/.test(document.querySelector("#next-attempt").innerText)`)
	due := script[string](s, `document.querySelector("#next-attempt time").dateTime`)
	if at, err := time.Parse(time.RFC3339, due); err != nil || time.Until(at) < 45*time.Minute || time.Until(at) > 75*time.Minute {
		t.Errorf("the next attempt is shown to be at %s (%v); it is in about an hour", due, err)
	}

	h.work.fails.Store(false)
	s.click(`[data-op="tasks.retry"]`)
	s.has(".head .state", "completed")
	if n := h.work.done.Load(); n != 1 {
		t.Errorf("the side effect happened %d times", n)
	}

	s.goTo(h.url + "jobs?job=" + ids[1])
	s.click(`[data-op="tasks.cancel"]`)
	s.has("dialog", "cancel job "+ids[1])
	s.confirm()
	s.has(".head .state", "cancelled")
	sentinel := h.enqueue("work", object{"sentinel": true})
	h.stands(sentinel, jobs.Completed)
	h.stands(ids[1], jobs.Cancelled)
	if n := h.work.done.Load(); n != 2 {
		t.Errorf("the side effects happened %d times; the retried job's and the sentinel's are 2", n)
	}
}

// What is typed into the search leads to what it names: a job or an event by id, jobs by kind, events by type.
func TestSearch(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	job := h.enqueue("work", object{})
	event := h.record("note.secret", "n1", object{})
	s := h.open("overview")
	for _, c := range []struct{ typed, selector, shows string }{
		{job, "h1", "Job " + job},
		{event, "#event-id", event},
		{"work", "#job-" + job, "work"},
		{"note.secret", `[id="event-` + event + `"]`, "note.secret"},
	} {
		s.typeIn("#jump", c.typed+browser.Enter)
		s.has(c.selector, c.shows)
	}
}
