package paneltest

import (
	"testing"

	"github.com/postbus/postbus/internal/testdb"
)

const tidy = "#periodic-app-tidy"

// lastRun is the moment that the row says, "" before the first run.
func (s *screen) lastRun() string {
	s.h.t.Helper()
	return script[string](s, `document.querySelector("`+tidy+` [data-last] time")?.dateTime ?? ""`)
}

// runNow presses the button, waits until the last run is another one that went well, and answers it.
func (s *screen) runNow() string {
	s.h.t.Helper()
	before := s.lastRun()
	s.click(tidy + ` [data-op="tasks.run_periodic"]`)
	s.has("#toasts", "It runs as job")
	s.wait(`(document.querySelector("` + tidy + ` [data-last] time")?.dateTime ?? "") > ` + quote(before))
	s.has(tidy, "ok")
	return s.lastRun()
}

// P4: a periodic's last and next run are shown; "Run now" moves the last one; the runs before a restart of the server are
// shown after it.
func TestPeriodicRunsAndRestart(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	h := setUpOn(t, pool, nil)
	s := h.open("periodics")
	s.wait(`Date.parse(document.querySelector("` + tidy + ` [data-next] time")?.dateTime) > Date.now()`)
	first := s.runNow()
	last := s.runNow()
	if first >= last {
		t.Errorf("it ran at %s, then at %s", first, last)
	}
	s.wait(`document.querySelectorAll("` + tidy + ` [data-run].s-completed").length >= 2`)
	runs := script[[]string](s, `[...document.querySelectorAll("`+tidy+` [data-run]")].map((run) => run.dataset.run)`)

	h.stop()
	again := setUpOn(t, pool, nil).open("periodics")
	for _, id := range runs {
		again.wait(`document.querySelector('` + tidy + ` [data-run="` + id + `"].s-completed')`)
	}
	if got := again.lastRun(); got < last {
		t.Errorf("after the restart the last run is %q, before it was %q", got, last)
	}
	again.has(tidy, "ok")
	again.click(tidy + " a[aria-label]") // the drawing leads to the jobs
	again.wait(`document.querySelectorAll("[data-row]").length >= 2`)
}

// A paused periodic has no next run; a paused queue says so; both go on again.
func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	s := h.open("periodics")
	s.click(tidy + ` [data-op="tasks.pause_periodic"]`)
	s.shows(tidy+" [data-next]", "paused")
	s.click(tidy + ` [data-op="tasks.resume_periodic"]`)
	s.wait(`document.querySelector("` + tidy + ` [data-next] time")`)

	s.goTo(h.url + "queues")
	s.click(`#queue-default [data-op="tasks.pause"]`)
	s.has("#queue-default", "paused")
	h.enqueue("work", object{})
	s.wait(`document.querySelectorAll("#queue-default .n")[0].innerText === "1"`)
	s.click(`#queue-default [data-op="tasks.resume"]`)
	s.has("#queue-default", "open")
	s.wait(`document.querySelectorAll("#queue-default .n")[0].innerText === "0"`)
}
