package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/postbus/postbus/internal/browser"
	"github.com/postbus/postbus/internal/testdb"
)

// shownWithinMS is the promise of the Events view: how long after the commit a row may come.
const shownWithinMS = 1000

// screen is a page of the Tasks panel in a real Chromium.
type screen struct {
	*browser.Page
	t *testing.T
}

func (s screen) must(err error) {
	if err != nil {
		s.t.Helper()
		s.t.Fatal(err)
	}
}

func (s screen) wait(expression string) { s.t.Helper(); s.must(s.Wait(expression)) }

// openPanel starts a browser and logs in with the link that the demo printed.
func openPanel(t *testing.T, link string) screen {
	t.Helper()
	chromium, err := browser.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(chromium.Stop)
	page, err := chromium.Open()
	if err != nil {
		t.Fatal(err)
	}
	s := screen{page, t}
	s.must(s.Go(link))
	s.must(s.Click("#use-link"))
	s.wait(`document.querySelector("#nav")`)
	return s
}

// editing changes a note from within the page, and answers how many milliseconds after that was asked for, which is before the
// commit, the row of its event was there.
func (s screen) editing(id, title string) (ms float64) {
	s.t.Helper()
	text, _ := json.Marshal(title)
	ms, err := browser.Eval[float64](s.Page, fmt.Sprintf(`new Promise((shown, failed) => {
		const before = new Set([...document.querySelectorAll("[data-row]")].map((row) => row.dataset.row));
		const isNew = (row) => !before.has(row.dataset.row) && row.innerText.includes("notebook.note_changed") && row.innerText.includes(%[1]q);
		const begun = performance.now();
		new MutationObserver((_, observer) => {
			if (![...document.querySelectorAll("[data-row]")].some(isNew)) return;
			observer.disconnect();
			shown(performance.now() - begun);
		}).observe(document.body, { childList: true, subtree: true, characterData: true, attributes: true });
		fetch("../notes/" + %[1]q, {
			method: "PUT", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ title: %[2]s, body: %[2]s }),
		}).then((answer) => { if (!answer.ok) failed(new Error("PUT answers " + answer.status)); }, failed);
	})`, id, text))
	s.must(err)
	return ms
}

// P5: edit a note, and its event appears in the open Events view within a second, without a reload; its tree lists the state of
// each subscriber, and the delivery's page links to the job that made it.
func TestAnEditAppearsInThePanel(t *testing.T) {
	t.Parallel()
	demo, pages := demoPages(t, "--database-url", testdb.EmptyURL(t), "--data", t.TempDir())
	made := write(t, pages, "Harvest", "cut the barley")
	press(t, pages, made.Note.ID, "publish")

	if home := get(t, pages); !strings.Contains(home, `href="/panel/"`) {
		t.Error("the home page does not lead to the panel")
	}
	s := openPanel(t, demo.said(t, "panel "))
	s.must(s.Go(pages + "/panel/events"))
	s.wait(`document.documentElement.dataset.live === "live" && document.querySelectorAll("[data-row]").length >= 2`)
	s.must(s.Run(`window.stayed = true`))

	// A machine that does much else may be late once in a while; a panel that only asks from time to time is late every time.
	var took []float64
	best := shownWithinMS + 1.0
	for i := 0; i < 5 && best > shownWithinMS; i++ {
		took = append(took, s.editing(made.Note.ID, fmt.Sprintf("Harvest %d", i)))
		best = min(best, took[i])
	}
	t.Logf("rows were there %.0f ms after the edits began", took)
	if best > shownWithinMS {
		t.Errorf("rows were there %.0f ms after the edits began, want one within %d ms", took, shownWithinMS)
	}

	s.must(s.Click(`[data-row]:has(td[title="notebook.note_changed"]) a[data-open]`))
	s.wait(`document.querySelector('#fanout [data-subscription="notebook.index"] .state')?.innerText === "completed"`)
	s.must(s.Back())
	s.must(s.Click(`[data-row]:has(td[title="notebook.note_published"]) a[data-open]`))
	s.wait(`document.querySelector('#fanout [data-subscription="webhook.fanout"] .state')?.innerText === "completed"`)
	s.wait(`document.querySelector("#fanout [data-delivery] .state")?.innerText === "delivered"`)
	s.must(s.Click(`#fanout [data-delivery] a[href*="delivery="]`))
	s.wait(`document.querySelector("#attempt-1")`)
	s.must(s.Click("#fanout-job"))
	s.wait(`location.search.includes("job=") && document.querySelector(".head .state")?.innerText === "completed"`)
	if stayed, err := browser.Eval[bool](s.Page, `window.stayed === true`); err != nil || !stayed {
		t.Errorf("the page was loaded anew (%v)", err)
	}
	if faults := s.Faults(); len(faults) > 0 {
		t.Errorf("the browser complains:\n%s", strings.Join(faults, "\n"))
	}

	if page := get(t, pages+"/panel/events"); strings.Contains(page, "notebook.note_changed") {
		t.Error("the panel shows events to somebody who is not logged in")
	}
}
