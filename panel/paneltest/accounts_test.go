package paneltest

import (
	"net/http"
	"testing"

	"github.com/postbus/postbus/internal/browser"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/ops"
)

const password = "correct horse battery"

// logIn fills in the login form.
func (s *screen) logIn(name, pass string) {
	s.h.t.Helper()
	s.goTo(s.h.url + "login")
	s.typeIn("#name", name)
	s.typeIn("#password", pass)
	s.click(`.login form button`)
}

// A token and a login link are shown once, and work; a revoked token ends. An account is made with the form.
func TestSettings(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	s := h.open("settings", "admin")
	s.click("#make-token summary")
	s.typeIn(`#make-token [name="name"]`, "the deploy script")
	s.click("#make-token button")
	s.has("dialog", "API token")
	token := s.secret("pb_")
	s.closeSecret(token)
	s.has("#tokens", "the deploy script")
	s.nowhere(token, "settings", "audit?operation=tokens.create")

	s.goTo(h.url + "settings")
	s.click(`#tokens [data-op="tokens.revoke"]`)
	s.has("dialog", "It would revoke the token")
	s.confirm()
	s.has("#tokens", "revoked")

	s.click("#make-account summary")
	s.typeIn(`#make-account [name="name"]`, "bob")
	s.typeIn(`#make-account [name="password"]`, password)
	s.click("#make-account button")
	s.has("#accounts", "bob")
	s.click(`#accounts form:has([name="name"][value="bob"]) [data-op="accounts.login_link"]`)
	s.has("dialog", "It logs in once")
	link := s.secret(h.url + "login?link=pbl_")
	s.closeSecret(link)

	bob := h.blank()
	bob.goTo(link)
	bob.click("#use-link")
	bob.shows("#nav .who", "account:bob")
	again := h.blank()
	again.goTo(link)
	again.click("#use-link")
	again.has(".problem", "the link was used already")
	again.refusedWith(http.StatusUnauthorized)
}

// Who may only read sees no button in any view; an act that is posted by hand is refused by the operation, and on record.
func TestReadOnlyAccount(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	job := h.failed("work", 1, jobs.Retryable)[0]
	endpoint := do[ops.CreatedEndpoint](h, "webhooks.create", object{"owner_id": "ann", "url": "http://127.0.0.1:9999/", "types": []string{"*"}})
	s := h.open("overview", "read")
	for _, view := range []string{"overview", "jobs", "jobs?job=" + job, "periodics", "queues", "events", "acts", "replays", "webhooks", "webhooks?endpoint=" + endpoint.ID, "audit", "system"} {
		s.goTo(h.url + view)
		s.wait(`document.querySelector("#content h1")`)
		if acts := script[string](s, `[...document.querySelectorAll("[hx-post], [data-op]")].map((el) => el.outerHTML).join(" ")`); acts != "" {
			t.Errorf("%s shows %s", view, acts)
		}
	}
	status := script[int](s, `fetch("act?op=tasks.retry", {method: "POST", body: new URLSearchParams({id: `+quote(job)+`})}).then((r) => r.status)`)
	if status != http.StatusForbidden {
		t.Errorf("the act is answered %d", status)
	}
	s.refusedWith(http.StatusForbidden)
	h.stands(job, jobs.Retryable)
	s.goTo(h.url + "audit?operation=tasks.retry")
	s.has("#audit-list", "forbidden")
	s.has("#audit-list", "account:read-")

	s.goTo(h.url + "settings")
	s.has(".problem", "admin")
	s.refusedWith(http.StatusForbidden)
}

// Who is bound to an owner sees this owner's things and nothing else; a view of everything says why it is not shown.
func TestOwnersAccount(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	his := h.enqueue("work", object{})
	other, err := h.bus.Jobs().Enqueue(t.Context(), "work", object{}, jobs.EnqueueOpts{Owner: "bea"})
	h.must(err)
	do[ops.Account](h, "accounts.create", object{"name": "ann", "password": password, "scopes": []string{"act"}, "owner_id": "ann"})
	s := h.blank()
	s.logIn("ann", password)
	s.wait(`document.querySelector('[data-row="` + his + `"]')`)
	s.gone(`[data-row="` + string(other) + `"]`)
	entries := script[string](s, `[...document.querySelectorAll("#nav a")].map((a) => a.textContent.trim()).join(" ")`)
	if entries != "Jobs Events Webhooks Mail Audit" {
		t.Errorf("the navigation has %s", entries)
	}
	for _, view := range []string{"events", "webhooks", "audit"} {
		s.goTo(h.url + view)
		s.wait(`document.querySelector("#content h1")`)
		s.gone(".problem")
	}
	for _, view := range []string{"queues", "periodics", "settings", "system"} {
		s.goTo(h.url + view)
		s.has(".problem", "That is not yours to do")
		s.has(".problem", "account:ann")
	}
	s.refusedWith(http.StatusForbidden)
	s.goTo(h.url + "jobs?job=" + string(other))
	s.has(".problem", "There is no such thing")
	s.refusedWith(http.StatusNotFound)
}

// A wrong password is told; after five failures a login has to wait; logging out ends the session.
func TestLogin(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	do[ops.Account](h, "accounts.create", object{"name": "ann", "password": password, "scopes": []string{"act"}})
	s := h.blank()
	s.h.must(s.Set(browser.Look{Width: 1280, Height: 800}))
	s.logIn("ann", password)
	s.shows("#nav .who", "account:ann")
	s.click(`#nav form[action="logout"] button`)
	s.wait(`document.querySelector("#password")`)
	s.goTo(h.url + "jobs?states=discarded")
	s.wait(`document.querySelector("#password") && location.search.includes("to=jobs")`)
	for range 5 {
		s.logIn("ann", "not the password")
		s.has(".problem", "the name or the password is wrong")
	}
	s.refusedWith(http.StatusUnauthorized)
	s.logIn("ann", password)
	s.has(".problem", "there were 5 failed logins within a minute")
	s.refusedWith(http.StatusTooManyRequests)
}

// A disabled account's session ends: the page that is open leads to the login by itself, once something is to be shown.
func TestDisabledAccount(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	account := do[ops.Account](h, "accounts.create", object{"name": "ann", "password": password, "scopes": []string{"act"}})
	s := h.blank()
	s.logIn("ann", password)
	s.wait(`document.documentElement.dataset.live === "live"`)
	do[ops.Account](h, "accounts.disable", object{"id": account.ID})
	h.enqueue("work", object{})
	s.wait(`location.pathname.endsWith("/login") && document.querySelector("#password")`)
	s.Faults() // requests were refused meanwhile
}
