package paneltest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/internal/browser"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/mail"
	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/postbustest"
)

// axe is axe-core 4.14.1, MPL-2.0: testdata/axe.LICENSE. The driver puts it into the page; no released program has it.
//
//go:embed testdata/axe.min.js
var axe string

// serious are axe's findings that matter, each with where it is, of all rules or of the ones named.
func serious(s *screen, rules ...string) []string {
	options := object{"resultTypes": []string{"violations"}}
	if len(rules) > 0 {
		options["runOnly"] = rules
	}
	asked, err := json.Marshal(options)
	s.h.must(err)
	return script[[]string](s, `axe.run(document, `+string(asked)+`).then((r) => r.violations
		.filter((v) => v.impact === "serious" || v.impact === "critical")
		.map((v) => v.id + ": " + v.help + ": " + v.nodes.slice(0, 4).map((n) => n.html.slice(0, 160) + " " + (n.any[0]?.message ?? "")).join(" | ")))`)
}

// looks are how every view is looked at.
func looks() []browser.Look {
	wide, phone := browser.Look{Width: 1440, Height: 900}, browser.Look{Width: 390, Height: 844, Phone: true}
	wideDark, phoneDark := wide, phone
	wideDark.Dark, phoneDark.Dark = true, true
	return []browser.Look{wide, wideDark, phoneDark, phone}
}

// P11: axe finds nothing serious in any view, light and dark, wide and as on a phone; there, nothing scrolls sideways.
func TestAccessibleToAll(t *testing.T) {
	t.Parallel()
	h := setUpOn(t, testdb.New(t), func(cfg *postbus.Config) { cfg.Mail = &mail.Config{} })
	failed := h.failed("once", 1, jobs.Discarded)[0]
	h.failed("work", 2, jobs.Retryable)
	receiver := postbustest.NewReceiver(t)
	endpoint := h.endpoint(receiver).ID
	h.discarded(endpoint, receiver, 1)
	delivery := do[ops.Listed[ops.Delivery]](h, "webhooks.deliveries", object{"endpoint_id": endpoint}).Items[0]
	do[any](h, "tokens.create", object{"name": "scanner", "scopes": []string{"read"}})
	do[any](h, "tasks.acknowledge_all", object{"queues": []string{"none"}})
	do[any](h, "events.replay", object{"name": "notes.index"})
	do[any](h, "work.declare", object{"name": "thumbnails", "types": []string{"note.*"}, "description": "Small pictures"})
	do[any](h, "work.claim", object{"kinds": []string{"thumbnails"}, "worker": "camera-1"})
	rule := do[ops.MailRule](h, "mail.create_rule", object{"name": "Tell Ann", "types": []string{"note.*"}, "to": []string{"ann@example.org"}, "subject": "{{.Type}}", "text": "{{.Subject}}"})
	s := h.open("overview", "admin")
	for _, view := range []string{
		"overview", "jobs", "jobs?job=" + failed, "jobs?kinds=none", "periodics", "queues", "events", "events?event=" + delivery.EventID, "webhooks",
		"webhooks?endpoint=" + endpoint, "webhooks?delivery=" + delivery.ID, "acts", "replays", "workers", "mail", "mail?rule=" + rule.ID,
		"audit", "settings", "system",
	} {
		s.goTo(h.url + view)
		s.wait(`document.documentElement.dataset.live === "live"`)
		h.must(s.Run(axe + `; for (const fold of document.querySelectorAll("main details")) fold.open = true`))
		s.accessible(view)
	}
	s.goTo(h.url + "jobs?job=" + failed)
	s.wait(`document.documentElement.dataset.live === "live"`)
	s.click(`[data-op="tasks.cancel"]`)
	s.wait(`document.querySelector("dialog[open]")`)
	h.must(s.Run(axe))
	s.accessible("a dry run")
	stranger := h.blank()
	stranger.goTo(h.url + "login")
	h.must(stranger.Run(axe))
	stranger.accessible("login")
}

// accessible looks at what stands in every look. axe is there.
func (s *screen) accessible(where string) {
	s.h.t.Helper()
	for _, look := range looks() {
		s.h.must(s.Set(look))
		var rules []string
		if look.Dark { // it changes colours and nothing else
			rules = []string{"color-contrast"}
		}
		for _, found := range serious(s, rules...) {
			s.h.t.Errorf("%s, %+v: %s", where, look, found)
		}
		if sideways := script[[]string](s, `[document.documentElement, ...document.querySelectorAll("main .scroll")]
			.filter((el) => el.scrollWidth > el.clientWidth).map((el) => el.outerHTML.slice(0, 160))`); look.Phone && len(sideways) > 0 {
			s.h.t.Errorf("%s, %+v: this scrolls sideways: %s", where, look, sideways)
		}
	}
}

// P11: every act is reached with the keyboard alone: rows, ticks, the acts on them, search, help; dialogs keep the focus, close with
// Escape and give it back.
func TestKeyboardReachesAll(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	ids := h.failed("once", 3, jobs.Discarded)
	s := h.open("jobs?states=discarded")
	h.must(s.Set(browser.Look{Width: 1440, Height: 900}))
	focus := func(want string) {
		t.Helper()
		s.wait(`document.activeElement.matches(` + quote(want) + `)`)
	}
	s.press("/")
	focus("#jump")
	s.press(browser.Escape)
	s.press("j")
	s.press("j")
	s.press("k")
	focus(`[data-row="` + ids[2] + `"] [data-open]`)
	s.press("x")
	s.shows("[data-ticked]", "1 selected")
	s.press("?")
	s.wait(`document.querySelector("#keys").open && document.querySelector("#keys").contains(document.activeElement)`)
	for range 4 {
		s.press(browser.Tab)
		if script[bool](s, `document.activeElement !== document.body && !document.querySelector("#keys").contains(document.activeElement)`) {
			t.Error("the focus left an open dialog")
		}
	}
	s.press(browser.Escape)
	s.wait(`!document.querySelector("#keys").open`)
	focus(`[data-row="` + ids[2] + `"] [data-open]`)

	// Tab comes to every control of the page that can be used. The page is held meanwhile: what stands is what is looked for.
	s.press("p")
	s.has("[data-live-state]", "paused")
	const missed = `[...document.querySelectorAll("a[href], button, input, select, textarea, summary")]
		.filter((el) => el.checkVisibility({visibilityProperty: true}) && !el.disabled && el.type !== "hidden" && !el.closest("dialog") && !window.reached.has(el))`
	left := script[int](s, `(window.reached = new Set(), document.activeElement.blur(), `+missed+`.length)`)
	for range 2*left + 20 {
		s.press(browser.Tab)
		if left = script[int](s, `(window.reached.add(document.activeElement), `+missed+`.length)`); left == 0 {
			break
		}
	}
	if left > 0 {
		t.Errorf("Tab never comes to %s", strings.Join(script[[]string](s, missed+`.map((el) => el.outerHTML.slice(0, 120))`), "\n"))
	}
	h.must(s.Run(`document.activeElement.blur()`))
	s.press("p")
	s.wait(`document.documentElement.dataset.live === "live"`)

	// r retries what is ticked.
	s.shows("[data-ticked]", "1 selected")
	s.press("r")
	s.wait(`document.querySelector("dialog[open]")?.contains(document.activeElement)`)
	for range 4 {
		if s.press(browser.Tab); script[bool](s, `document.activeElement.matches("[data-confirm]")`) {
			break
		}
	}
	focus("[data-confirm]")
	s.press(browser.Enter)
	wait.Eventually(t, within, func() (bool, string) { // it runs again, and fails again
		is := do[ops.Task](h, "tasks.get", object{"id": ids[2]})
		return len(is.Errors) == 2 && is.State == string(jobs.Discarded), fmt.Sprintf("job %s is %s after %d failures", ids[2], is.State, len(is.Errors))
	})
	s.goTo(h.url + fmt.Sprint("jobs?job=", ids[0]))
	s.wait(`document.documentElement.dataset.live === "live"`)
	s.click(`[data-op="tasks.cancel"]`)
	s.wait(`document.querySelector("dialog[open]")?.contains(document.activeElement)`)
	s.press(browser.Escape)
	s.gone("dialog[open]")
	focus(`[data-op="tasks.cancel"]`)
	s.press(browser.Escape)
	s.wait(`document.querySelector("#jobs-list")`)
}
