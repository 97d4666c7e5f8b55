package paneltest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/postbustest"
)

// endpoint makes one of ann's that sends to the receiver.
func (h *house) endpoint(r *postbustest.Receiver) ops.CreatedEndpoint {
	h.t.Helper()
	made := do[ops.CreatedEndpoint](h, "webhooks.create", object{
		"owner_id": "ann", "url": r.URL, "types": []string{"note.changed", "note.moved"}, "description": "the search index", "max_in_flight": 8,
	})
	r.Trust(h.t, made.Secret)
	return made
}

// holds says that what the receiver got was signed with the secret that it trusts.
func holds(t *testing.T, messages []postbustest.Message) {
	t.Helper()
	for _, m := range messages {
		if m.Unverified != nil {
			t.Errorf("the signature of %s does not hold: %v", m.ID, m.Unverified)
		}
	}
}

// P6: an endpoint is made with types that the registry offers; its secret is shown once, can be copied, and is nowhere afterwards:
// not at a second look, not in the page's source, not in the audit log.
func TestMakeEndpoint(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	receiver := postbustest.NewReceiver(t)
	s := h.open("webhooks")
	s.click("#make-endpoint summary")
	offered := script[string](s, `[...document.querySelectorAll('#make-endpoint input[type="checkbox"][name="types"]')].map((box) => box.value).join(" ")`)
	if !strings.Contains(offered, "note.changed") || strings.Contains(offered, "note.secret") {
		t.Errorf("these types are offered: %s", offered)
	}
	s.typeIn(`#make-endpoint [name="owner_id"]`, "ann")
	s.typeIn(`#make-endpoint [name="url"]`, receiver.URL)
	s.click(`#make-endpoint [value="note.changed"]`)
	s.click("#make-endpoint button")
	s.has("dialog", "Signing secret")
	secret := s.secret("whsec_")
	s.copied(secret)
	s.closeSecret(secret)
	if script[string](s, `document.querySelector('#make-endpoint [name="url"]').value`) != "" {
		t.Error("the form would make the same endpoint again")
	}
	receiver.Trust(t, secret)
	h.record("note.changed", "note-1", object{})
	holds(t, receiver.WaitFor(t, 1, within))

	s.click("#endpoints [data-open]")
	s.has("#endpoint", receiver.URL)
	s.nowhere(secret, "webhooks", "audit?operation=webhooks.create", strings.TrimPrefix(s.address(), h.url))
}

// P6: a replaced secret is shown once; the receiver takes what is signed with it.
func TestRotateSecret(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	receiver := postbustest.NewReceiver(t)
	made := h.endpoint(receiver)
	s := h.open("webhooks?endpoint=" + made.ID)
	s.click(`[data-op="webhooks.rotate_secret"]`)
	s.has("dialog", "New signing secret")
	s.has("dialog", "The old one is good until")
	secret := s.secret("whsec_")
	if secret == made.Secret {
		t.Error("it is the old secret")
	}
	s.closeSecret(secret)
	receiver.Trust(t, secret)
	h.record("note.changed", "note-1", object{})
	holds(t, receiver.WaitFor(t, 1, within))
	s.nowhere(secret, "webhooks?endpoint="+made.ID, "audit?operation=webhooks.rotate_secret")
}

// P6: an endpoint is changed: a type unchecked, the description cleared, the order given up. One without any type is refused.
func TestChangeEndpoint(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	receiver := postbustest.NewReceiver(t)
	made := h.endpoint(receiver)
	do[ops.Endpoint](h, "webhooks.update", object{"id": made.ID, "ordered": true})
	s := h.open("webhooks?endpoint=" + made.ID)
	s.has("#endpoint", "one after the other")
	s.click("#edit summary")
	s.click(`#edit [value="note.changed"]`)
	s.click(`#edit [name="ordered"][type="checkbox"]`)
	script[any](s, `document.querySelector('#edit [name="description"]').value = ""`)
	s.click("#edit button")
	s.wait(`!document.querySelector("#endpoint").innerText.includes("one after the other")`)
	got := do[ops.Endpoint](h, "webhooks.get", object{"id": made.ID})
	if strings.Join(got.Types, " ") != "note.moved" || got.Description != "" || got.Ordered {
		t.Errorf("it is now %+v", got)
	}
	s.click(`#edit [value="note.moved"]`)
	s.click("#edit button")
	s.has("dialog .problem", "types")
	s.refusedWith(http.StatusUnprocessableEntity)
	if got := do[ops.Endpoint](h, "webhooks.get", object{"id": made.ID}); strings.Join(got.Types, " ") != "note.moved" {
		t.Errorf("its types are %v", got.Types)
	}
}

// P6: an endpoint is disabled, enabled and deleted, each after saying what it costs.
func TestSwitchEndpoint(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	receiver := postbustest.NewReceiver(t)
	made := h.endpoint(receiver)
	s := h.open("webhooks?endpoint=" + made.ID)
	s.click(`[data-op="webhooks.disable"]`)
	s.has("dialog", "disable the endpoint to "+receiver.URL)
	s.confirm()
	s.shows("#endpoint .head .state", "disabled")
	s.has("#endpoint", "by hand, in the panel")
	s.click(`[data-op="webhooks.enable"]`)
	s.shows("#endpoint .head .state", "enabled")
	s.click(`[data-op="webhooks.delete"]`)
	s.has("dialog", "with its secrets")
	s.click("dialog [data-confirm]")
	s.has("#endpoints", "There is no endpoint here")
}

// A page whose thing is deleted meanwhile says so in its place: the browser complains about nothing. Its address has nothing to show.
func TestDeletedWhileItIsShown(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	receiver := postbustest.NewReceiver(t)
	made := h.endpoint(receiver)
	s, other := h.open("webhooks?endpoint="+made.ID), h.open("webhooks?endpoint="+made.ID)
	other.click(`[data-op="webhooks.delete"]`)
	other.click("dialog [data-confirm]")
	other.has("#endpoints", "There is no endpoint here")
	s.shows("#endpoint", "This endpoint was deleted.")
	s.gone("section[data-live]")

	none := "018f0000-0000-7000-8000-000000000000"
	for part, view := range map[string]string{
		"job": "jobs?job=987654321", "event": "events?event=" + none, "delivery": "webhooks?delivery=" + none, "deliveries": "webhooks?endpoint=" + none,
		"acts": "acts?act_id=" + none, "replays": "replays?replay=" + none,
	} {
		status := script[int](s, `fetch(`+quote(view)+`).then((r) => r.status)`)
		if status != http.StatusNotFound {
			t.Errorf("%s is answered %d", view, status)
		}
		s.refusedWith(http.StatusNotFound)
		got := script[string](s, `fetch(`+quote(view+"&part="+part)+`).then(async (r) => r.status + " " + await r.text())`)
		if !strings.HasPrefix(got, "200 <section id=\""+part+"\"><p") || !strings.Contains(got, "This ") {
			t.Errorf("the part %s of %s is %s", part, view, got)
		}
	}
}
