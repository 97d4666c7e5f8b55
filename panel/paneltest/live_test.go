package paneltest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/postbus/postbus/internal/browser"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/ops"
)

// flood puts n jobs into a queue that nobody works, as fast as the database takes them.
func (h *house) flood(n int) {
	h.t.Helper()
	_, err := h.pool.Exec(h.t.Context(), `insert into postbus.river_job (kind, queue, args, max_attempts, metadata)
		select 'work', 'flood', jsonb_build_object('n', n), 20, '{"owner": "ann"}' from generate_series(1, $1::int) n`, n)
	h.must(err)
}

// countSwaps has the page note when each of its live sections was swapped.
func countSwaps(s *screen) {
	script[any](s, `(window.swaps = {}, document.addEventListener("htmx:after:swap", (event) => {
		const el = event.detail.ctx.sourceElement;
		if (el.hasAttribute("data-live")) (window.swaps[el.id] ??= []).push(performance.now());
	}), null)`)
}

// calm checks that no section was swapped more than twice in any second, and that there were swaps at all.
func calm(t *testing.T, s *screen) {
	t.Helper()
	swaps := script[map[string][]float64](s, `window.swaps`)
	total := 0
	for id, at := range swaps {
		total += len(at)
		for i := 2; i < len(at); i++ {
			if gap := at[i] - at[i-2]; gap < 1000 {
				t.Errorf("section %s was swapped three times within %.0f ms", id, gap)
			}
		}
	}
	if total == 0 {
		t.Error("nothing was swapped: the page was not live")
	}
}

// P8: while 10,000 jobs arrive, what somebody ticks and types stays, with the focus and the caret; nothing jumps; no section is
// swapped more than twice a second; the browser complains about nothing.
func TestFloodDisturbsNobody(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	ids := h.failed("once", 12, jobs.Discarded)
	overview := h.open("overview")
	s := h.open("jobs")
	h.must(s.Set(browser.Look{Width: 1440, Height: 700}))
	countSwaps(s)
	countSwaps(overview)
	tick := func(id string) { s.click("#tick-" + id) }
	top := func(id string) float64 {
		return script[float64](s, `document.getElementById("job-`+id+`").getBoundingClientRect().top`)
	}
	h.must(s.Run(`window.scrollTo(0, 60)`))
	before := top(ids[5])
	tick(ids[5])
	if after := top(ids[5]); after != before {
		t.Errorf("the row went from %v to %v when it was ticked", before, after)
	}
	tick(ids[2])
	script[any](s, `(window.row = document.getElementById("job-`+ids[5]+`"), null)`)
	before = top(ids[5])
	scrolled := script[float64](s, `window.scrollY`)

	const typed = `{"note_id": "4711", "x": 12345678901234567890}`
	s.click(`[name="args"]`)
	for i := range 100 {
		h.flood(100)
		if i == 60 {
			tick(ids[8])
			script[any](s, `document.querySelector("[name=args]").focus({preventScroll: true})`)
		}
		if i%2 == 0 && i/2 < len(typed) {
			s.press(typed[i/2 : i/2+1])
		}
		if now := top(ids[5]); now-before > 1 || before-now > 1 {
			t.Fatalf("after %d rows the ticked row jumped from %v to %v", (i+1)*100, before, now)
		}
	}
	s.has(".bulk .news", "There are newer jobs")
	s.shows(`[data-ticked]`, "3 selected")
	is := script[struct {
		Text, Focus, Ticked string
		Caret               int
		Scroll              float64
		Same                bool
	}](s, `({
		Text: document.querySelector("[name=args]").value, Focus: document.activeElement.name, Caret: document.activeElement.selectionStart,
		Ticked: [...document.querySelectorAll("[name=ids]:checked")].map((box) => box.value).sort().join(),
		Scroll: window.scrollY, Same: window.row === document.getElementById("job-`+ids[5]+`"),
	})`)
	if is.Text != typed || is.Focus != "args" || is.Caret != len(typed) || is.Scroll != scrolled || !is.Same {
		t.Errorf("something was lost: %+v", is)
	}
	if got := len(strings.Split(is.Ticked, ",")); got != 3 {
		t.Errorf("ticked are %s", is.Ticked)
	}

	// Rows that are held show their state of now.
	do[ops.Done](h, "tasks.pause", object{"queue": "default"})
	do[ops.Task](h, "tasks.retry", object{"id": ids[5]})
	s.has("#job-"+ids[5]+" .state", "pending")
	overview.wait(`document.querySelector("#count-pending .n").innerText.trim() !== "0"`) // large counts are estimates
	calm(t, s)
	calm(t, overview)

	s.click(".bulk .news a")
	s.wait(`!document.querySelector("#job-` + ids[5] + `") && document.querySelectorAll("[data-row]").length > 20`)
}

// P8: pause holds the screen and says when there is news; going on shows it.
func TestPauseHoldsTheScreen(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	h.flood(3)
	s := h.open("jobs?queues=flood")
	s.wait(`document.querySelectorAll("[data-row]").length === 3`)
	s.press("p")
	s.has("[data-live-state]", "paused") // the bus's own jobs may be news already
	script[any](s, `(window.held = document.querySelector("#jobs-list").innerHTML, null)`)
	h.flood(2)
	s.shows("[data-live-state]", "paused, there is news")
	if !script[bool](s, `window.held === document.querySelector("#jobs-list").innerHTML`) {
		t.Error("the screen changed while it was paused")
	}
	s.click(`[data-do="pause"]`)
	s.wait(`document.querySelectorAll("[data-row]").length === 5`)
	s.wait(`document.documentElement.dataset.live === "live"`)
}

// gate stands before the panel: it can cut connections, refuse new ones and fail what is fetched for a section.
type gate struct {
	*httptest.Server
	down, fails atomic.Bool
	streams     atomic.Int64
}

func (h *house) gated() *gate {
	g := &gate{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.down.Load() {
			panic(http.ErrAbortHandler)
		}
		if g.fails.Load() && r.URL.Query().Get("part") != "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/live") {
			g.streams.Add(1)
			defer g.streams.Add(-1)
		}
		h.panel.ServeHTTP(w, r)
	}))
	h.t.Cleanup(func() { g.CloseClientConnections(); g.Close() })
	h.url = g.URL + "/panel/"
	return g
}

// lost forgets what the browser says of connections that the test broke, and keeps the rest.
func (s *screen) lost() {
	for _, fault := range s.Faults() {
		if !strings.HasPrefix(fault, "network:") && !strings.Contains(fault, "etwork error") && !strings.Contains(fault, "Failed to fetch") {
			s.h.t.Errorf("the browser complains: %s", fault)
		}
	}
}

// P8: a lost connection shows and heals, with what happened meanwhile, and nothing that was typed is lost.
func TestLostConnectionShowsAndHeals(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	g := h.gated()
	h.flood(1)
	s := h.open("jobs?queues=flood")
	s.typeIn(`[name="args"]`, "half a wo")
	g.down.Store(true)
	g.CloseClientConnections()
	s.has("[data-live-state]", "no connection")
	h.flood(2)
	g.down.Store(false)
	s.wait(`document.documentElement.dataset.live === "live"`)
	s.wait(`document.querySelectorAll("[data-row]").length === 3 && document.querySelector("[name=args]").value === "half a wo"`)
	s.lost()

	// A server that fails leaves what stands, and the page says that it is old.
	g.fails.Store(true)
	h.flood(1)
	s.has("[data-live-state]", "not current")
	s.wait(`document.querySelectorAll("[data-row]").length === 3`)
	g.fails.Store(false)
	s.wait(`document.querySelectorAll("[data-row]").length === 4`)
	s.wait(`document.documentElement.dataset.live === "live"`)
	s.lost()

	// A connection that says nothing any more is as good as lost: here the page's clock goes on by a minute.
	script[any](s, `(window.seen = [], new MutationObserver(() => window.seen.push(document.documentElement.dataset.live))
		.observe(document.documentElement, {attributeFilter: ["data-live"]}), window.now = Date.now, Date.now = () => window.now() + 60000, null)`)
	s.wait(`window.seen.includes("lost") && document.documentElement.dataset.live === "live"`)
}

// P8: a page that comes up while the stream cannot be had gets it later, by itself.
func TestStreamThatWasNeverThereComes(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	var refuse atomic.Bool
	whole := h.panel
	h.panel = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse.Load() && strings.HasSuffix(r.URL.Path, "/live") {
			http.Error(w, "too many", http.StatusServiceUnavailable)
			return
		}
		whole.ServeHTTP(w, r)
	})
	h.gated()
	s := h.open("jobs?queues=flood")
	refuse.Store(true)
	s.goTo(h.url + "queues")
	s.has("[data-live-state]", "no connection")
	refuse.Store(false)
	s.wait(`document.documentElement.dataset.live === "live"`)
	s.lost()
}

// A browser has six connections to a host: a tab that nobody looks at gives its stream back, and is current when it is looked at.
func TestHiddenTabGivesItsStreamBack(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	g := h.gated()
	s := h.open("jobs?queues=flood")
	streams := func(want int64) {
		t.Helper()
		wait.Eventually(t, within, func() (bool, string) {
			n := g.streams.Load()
			return n == want, fmt.Sprintf("%d streams, want %d", n, want)
		})
	}
	hide := func(hidden bool) {
		script[any](s, fmt.Sprintf(`(Object.defineProperty(document, "hidden", {value: %v, configurable: true}),
			document.dispatchEvent(new Event("visibilitychange")), null)`, hidden))
	}
	streams(1)
	hide(true)
	streams(0)
	h.flood(2)
	hide(false)
	streams(1)
	s.wait(`document.querySelectorAll("[data-row]").length === 2`)
	s.wait(`document.documentElement.dataset.live === "live"`)
}
