package paneltest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/postbus/postbus/internal/browser"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/ops"
)

const (
	script1 = `<script>window.pwned=1</script>`
	image   = `"'><img src=x onerror="window.pwned=1">`
	foreign = "שלום עולם مرحبا 🚋👩‍👩‍👧‍👦"
)

// fits checks that nothing of what somebody filled in was run, and that the page does not scroll sideways.
func (s *screen) fits(where string) {
	s.h.t.Helper()
	if script[bool](s, `window.pwned !== undefined`) {
		s.h.t.Errorf("%s: a field was run as a script", where)
	}
	if wide := script[float64](s, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
		s.h.t.Errorf("%s: the page is %v pixels wider than its window", where, wide)
	}
}

// P9: whatever stands in a field is shown as it is, none of it runs, and the page keeps its width, wide and as on a phone.
func TestHostileTextIsOnlyText(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	owner, subject := "o"+script1+foreign, "s"+image+foreign
	data := `{"big": 9007199254740993, "html": "` + script1 + `", "text": "` + foreign + `"}`
	event := do[ops.Recorded](h, "events.record", object{
		"owner_id": owner, "type": "note.changed", "subject": subject, "data": json.RawMessage(data),
	}).ID
	do[ops.CreatedEndpoint](h, "webhooks.create", object{
		"owner_id": owner, "url": "http://127.0.0.1:1099/" + strings.Repeat("a", 300), "types": []string{"note.*"}, "description": script1 + image + foreign,
	})
	wrong := script1 + image + foreign + strings.Repeat("long", 2<<10)
	failing := h.broken(owner, data, wrong)
	s := h.open("overview")
	views := map[string][]string{
		"overview": nil, "system": nil, "jobs": {owner}, "events": {subject, owner}, "webhooks": {owner}, "audit": nil,
		"jobs?job=" + failing: {"9007199254740993", script1, image, foreign}, "events?event=" + event: {"9007199254740993", subject, foreign},
		"jobs?args=" + `{"html":"` + script1[:8]: {"JSON"},
	}
	for _, look := range []browser.Look{{Width: 1440, Height: 900}, {Width: 390, Height: 844, Phone: true}} {
		h.must(s.Set(look))
		for view, parts := range views {
			s.goTo(h.url + view)
			s.wait(`document.documentElement.dataset.live === "live"`)
			for _, part := range parts {
				s.wait(`document.querySelector("main").textContent.includes(` + quote(part) + `)`)
			}
			s.fits(view)
		}
	}
	s.goTo(h.url + "jobs?job=" + failing)
	s.click("#attempt-1 summary")
	s.wait(`document.querySelector("#attempt-1").innerText.includes(` + quote(wrong) + `)`)
	s.fits("an error of 8 KB")
	_ = s.Faults() // the search for something that is no JSON is refused, and the browser says so
}

// broken is a job of the owner whose first attempt failed with the error.
func (h *house) broken(owner, args, wrong string) (id string) {
	h.t.Helper()
	trace, err := json.Marshal(object{"at": "2026-01-31T12:00:00Z", "attempt": 1, "error": wrong, "trace": script1})
	h.must(err)
	meta, err := json.Marshal(object{"owner": owner})
	h.must(err)
	h.must(h.pool.QueryRow(h.t.Context(), `insert into postbus.river_job
		(kind, queue, args, max_attempts, attempt, metadata, errors, state, scheduled_at)
		values ('work', 'flood', $1::text::jsonb, 20, 1, $2::text::jsonb, array[$3::text::jsonb], 'retryable', now() + interval '1 hour') returning id::text`,
		args, string(meta), string(trace)).Scan(&id))
	return id
}

// P9: args of 200 KB are cut at 8 KiB; all of them are one step away, byte for byte.
func TestLargeArgsAreCut(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	id, err := h.bus.Jobs().Enqueue(t.Context(), "work", json.RawMessage(`{"fill": "`+strings.Repeat("x", 200<<10)+`", "last": 9007199254740993}`),
		jobs.EnqueueOpts{Owner: "ann"})
	h.must(err)
	s := h.open("jobs?job=" + string(id))
	s.has("main", "of which the first 8 KiB are shown")
	if n := script[int](s, `document.querySelector("#args").textContent.length`); n > 8<<10 {
		t.Errorf("%d characters are shown", n)
	}
	s.fits("200 KB")
	whole := script[string](s, `fetch(document.querySelector("#args + p a").href).then((r) => r.text())`)
	if len(whole) < 200<<10 || !strings.Contains(whole, "9007199254740993") {
		t.Errorf("all of it has %d bytes", len(whole))
	}
	s.click("#args + p a")
	s.wait(`document.body.innerText.length > 200000`)
}
