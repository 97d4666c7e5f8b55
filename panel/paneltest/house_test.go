package paneltest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/browser"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/panel"
	"github.com/postbus/postbus/webhooks"
)

// testKey seals the secrets: "k1:" and the base64 of 32 times "k".
const testKey = "k1:a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="

// within is how long something may take to happen.
const within = 45 * time.Second

// house is a whole bus with its panel, served as an application would.
type house struct {
	t        testing.TB
	pool     *pgxpool.Pool
	bus      *postbus.Bus
	registry *ops.Registry
	panel    http.Handler
	url      string // of the panel, with the slash
	work     *work
}

// work is the kind "work": it does what the test says, and counts what it did.
type work struct {
	fails atomic.Bool  // it fails, while this is true
	done  atomic.Int64 // how often it ended well
}

func (w *work) handle(_ context.Context, args json.RawMessage) error {
	if w.fails.Load() && !strings.Contains(string(args), "sentinel") {
		return errors.New("the printer is on fire")
	}
	w.done.Add(1)
	return nil
}

// setUp starts a bus with a panel at prefix, "/panel/" for "".
func setUp(t testing.TB) *house {
	t.Helper()
	return setUpOn(t, testdb.New(t), nil)
}

// setUpOn starts one on a database; change may change how.
func setUpOn(t testing.TB, pool *pgxpool.Pool, change func(*postbus.Config)) *house {
	t.Helper()
	h := &house{t: t, pool: pool, work: &work{}}
	cfg := h.config()
	if change != nil {
		change(&cfg)
	}
	h.start(cfg)
	h.serve()
	return h
}

func (h *house) config() postbus.Config {
	nothing := func(context.Context, events.Event) error { return nil }
	return postbus.Config{
		App: "app", Log: testdb.Log(), PollInterval: 100 * time.Millisecond,
		BackoffBase: 20 * time.Millisecond, BackoffMax: 100 * time.Millisecond,
		Types: []events.Type{
			{Name: "note.changed", Description: "A note was changed", Subject: "note id", Exposure: events.Webhook},
			{Name: "note.moved", Description: "A note went elsewhere", Subject: "note id", Exposure: events.Webhook},
			{Name: "note.secret", Description: "Nobody else's business", Subject: "note id"},
		},
		Subscriptions: []events.Subscription{{Name: "notes.index", Types: []string{"note.*"}, Handle: nothing}},
		Kinds: []jobs.Kind{
			{Name: "work", Queue: "default", MaxAttempts: 20, Backoff: jobs.Steps(time.Hour), Handle: h.work.handle},
			{Name: "once", Queue: "default", MaxAttempts: 1, Handle: h.work.handle},
			{Name: "idle.kind", Queue: "default", MaxAttempts: 1, Handle: h.work.handle},
		},
		Periodics: []jobs.Periodic{{Name: "tidy", Every: time.Hour, Run: func(context.Context) error { return nil }}},
		Webhooks: &webhooks.Config{
			Keys: []string{testKey}, Allow: []string{"127.0.0.1"}, Schedule: slices.Repeat([]time.Duration{30 * time.Millisecond}, 2),
			FailingWait: 30 * time.Millisecond, // else what is fanned out after a first failure waits for minutes
		},
	}
}

func (h *house) start(cfg postbus.Config) {
	h.t.Helper()
	bus, err := postbus.New(h.pool, cfg)
	h.must(err)
	h.must(bus.Start(h.t.Context()))
	h.bus = bus
	h.t.Cleanup(h.stop)
}

func (h *house) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	h.must(h.bus.Stop(ctx))
}

// serve serves the panel under /panel/.
func (h *house) serve() {
	h.t.Helper()
	registry, err := ops.New(ops.Deps{
		Pool: h.pool, Events: h.bus.Events(), Runtime: h.bus.Runtime(), Webhooks: h.bus.Webhooks(), Mail: h.bus.Mail(), Work: h.bus.Work(), Alerts: h.bus.Alerts,
		Listener: h.bus.Listening, Version: "test", Log: testdb.Log(),
	})
	h.must(err)
	h.registry = registry
	live := panel.NewLive(panel.LiveConfig{
		Pool: h.pool, Inspector: h.bus.Inspector(), Listener: h.bus.Listener(), Alerts: h.bus.Alerts, Log: testdb.Log(),
	})
	live.Start(context.Background())
	h.panel, err = panel.New(panel.Config{
		Registry: registry, Auth: panel.NewSessions(h.pool, ops.NewAuthenticator(h.pool, testdb.Log()), testdb.Log()),
		Live: live, Version: "test", Log: testdb.Log(),
	})
	h.must(err)
	mux := http.NewServeMux()
	mux.Handle("/panel/", h.panel)
	mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }) // an answer without a page asks for it
	server := httptest.NewServer(mux)
	h.url = server.URL + "/panel/"
	h.t.Cleanup(func() { live.Stop(); server.Close() })
}

func (h *house) must(err error) {
	if err != nil {
		h.t.Helper()
		h.t.Fatal(err)
	}
}

// do calls an operation as whoever has the database.
func do[Out any](h *house, operation string, input any) Out {
	h.t.Helper()
	raw, err := json.Marshal(input)
	h.must(err)
	answer, err := h.registry.Do(h.t.Context(), ops.Request{Operation: operation, Who: ops.Local("test"), Face: ops.CLI, Input: raw})
	h.must(err)
	if answer.DryRun != nil {
		answer, err = h.registry.Do(h.t.Context(), ops.Request{
			Operation: operation, Who: ops.Local("test"), Face: ops.CLI, Input: raw, Confirm: answer.DryRun.Confirm,
		})
		h.must(err)
	}
	return answer.Output.(Out)
}

type object = map[string]any

// enqueue makes a job.
func (h *house) enqueue(kind string, args any) string {
	h.t.Helper()
	id, err := h.bus.Jobs().Enqueue(h.t.Context(), kind, args, jobs.EnqueueOpts{Owner: "ann"})
	h.must(err)
	return string(id)
}

// record records an event of ann's.
func (h *house) record(typ, subject string, data any) string {
	h.t.Helper()
	raw, err := json.Marshal(data)
	h.must(err)
	recorded := do[ops.Recorded](h, "events.record", object{"owner_id": "ann", "type": typ, "subject": subject, "data": json.RawMessage(raw)})
	return recorded.ID
}

// screen is a page that fails the test where something does not happen.
type screen struct {
	*browser.Page
	h *house
}

// open logs an account with the scopes in and opens a view. What the browser complains about fails the test.
func (h *house) open(view string, scopes ...string) *screen {
	h.t.Helper()
	if len(scopes) == 0 {
		scopes = []string{"act"}
	}
	s := h.blank()
	name := strings.Join(scopes, "-") + "-" + strings.ToLower(time.Now().Format("150405.000000000"))
	do[ops.Account](h, "accounts.create", object{"name": name, "password": "correct horse battery", "scopes": scopes})
	link := do[ops.LoginLink](h, "accounts.login_link", object{"name": name})
	s.goTo(h.url + "login?link=" + link.Token)
	s.click("#use-link")
	s.wait(`document.querySelector("#nav")`)
	s.goTo(h.url + view)
	s.wait(`document.documentElement.dataset.live === "live"`)
	return s
}

// blank is a page that nobody is logged in to.
func (h *house) blank() *screen {
	h.t.Helper()
	page, err := chromium.Open()
	h.must(err)
	h.t.Cleanup(func() {
		if faults := page.Faults(); len(faults) > 0 && !h.t.Failed() {
			h.t.Errorf("the browser complains:\n%s", strings.Join(faults, "\n"))
		}
		page.Close()
	})
	return &screen{page, h}
}

// goTo goes to a page, and waits until its stream is there: before, the page may not yet take what is done to it.
func (s *screen) goTo(url string) {
	s.h.t.Helper()
	s.h.must(s.Go(url))
	s.wait(`!document.querySelector("#nav") || (document.documentElement.dataset.live ?? "connecting") !== "connecting"`)
}

func (s *screen) click(selector string)        { s.h.t.Helper(); s.h.must(s.Click(selector)) }
func (s *screen) wait(expression string)       { s.h.t.Helper(); s.h.must(s.Wait(expression)) }
func (s *screen) typeIn(selector, text string) { s.h.t.Helper(); s.h.must(s.Type(selector, text)) }
func (s *screen) press(keys string)            { s.h.t.Helper(); s.h.must(s.Press(keys)) }

// shows waits until an element's text is want.
func (s *screen) shows(selector, want string) {
	s.h.t.Helper()
	s.wait(`(document.querySelector(` + quote(selector) + `)?.innerText ?? "").trim() === ` + quote(want))
}

// has waits until an element's text holds part.
func (s *screen) has(selector, part string) {
	s.h.t.Helper()
	s.wait(`(document.querySelector(` + quote(selector) + `)?.innerText ?? "").includes(` + quote(part) + `)`)
}

// gone waits until there is no such element.
func (s *screen) gone(selector string) {
	s.h.t.Helper()
	s.wait(`!document.querySelector(` + quote(selector) + `)`)
}

// confirm presses the button of the dry run that is asked.
func (s *screen) confirm() { s.h.t.Helper(); s.click("dialog [data-confirm]"); s.gone("dialog[open]") }

// script answers the value of an expression.
func script[T any](s *screen, expression string) T {
	s.h.t.Helper()
	value, err := browser.Eval[T](s.Page, expression)
	s.h.must(err)
	return value
}

func quote(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted)
}
