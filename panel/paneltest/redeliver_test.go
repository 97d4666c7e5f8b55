package paneltest

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/postbustest"
)

// discarded makes n deliveries to the endpoint fail for good, and lets the receiver take what comes after.
func (h *house) discarded(id string, r *postbustest.Receiver, n int) {
	h.t.Helper()
	r.Answer(func(postbustest.Message) postbustest.Answer { return postbustest.Answer{Status: http.StatusTeapot} })
	for i := range n {
		h.record("note.changed", fmt.Sprint("note-", i), object{"n": i})
	}
	h.delivered(id, "discarded", n)
	r.Forget()
	r.Answer(nil)
}

// delivered waits until so many of the endpoint's deliveries stand in the state.
func (h *house) delivered(id, state string, n int) {
	h.t.Helper()
	wait.Eventually(h.t, within, func() (bool, string) {
		got := do[ops.Listed[ops.Delivery]](h, "webhooks.deliveries", object{"endpoint_id": id, "states": []string{state}, "limit": 200})
		return len(got.Items) == n, fmt.Sprintf("%d deliveries are %s, want %d", len(got.Items), state, n)
	})
}

// rows waits until so many rows are shown in the state.
func (s *screen) rows(state string, n int) {
	s.h.t.Helper()
	s.wait(fmt.Sprintf(`document.querySelectorAll("#deliveries [data-row] .s-%s").length === %d`, state, n))
}

// P6: all discarded deliveries of an endpoint are sent again, once it is said how many they are.
func TestRedeliverDiscarded(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	receiver := postbustest.NewReceiver(t)
	made := h.endpoint(receiver)
	h.discarded(made.ID, receiver, 3)
	s := h.open("webhooks?endpoint=" + made.ID)
	s.rows("discarded", 3)
	s.click(`[data-op="webhooks.redeliver_discarded"]`)
	s.has("dialog", "send discarded deliveries to "+receiver.URL)
	s.shows("dialog .big strong", "3")
	if got := len(receiver.Messages()); got != 0 {
		t.Errorf("the dry run sent %d messages", got)
	}
	s.confirm()
	s.has("#toasts", "3 changed")
	holds(t, receiver.WaitFor(t, 3, within))
	h.delivered(made.ID, "delivered", 3)
	s.rows("delivered", 3)
	s.has("#endpoint .head", "enabled")
}

// P6: what an endpoint failed to take since a time is recovered; a test is sent; one delivery is sent again.
func TestRecoverAndSendTest(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	receiver := postbustest.NewReceiver(t)
	made := h.endpoint(receiver)
	h.discarded(made.ID, receiver, 2)
	s := h.open("webhooks?endpoint=" + made.ID)
	s.rows("discarded", 2)
	s.click("#recover summary")
	s.typeIn(`#recover [name="since"]`, "1h")
	s.click("#recover button")
	holds(t, receiver.WaitFor(t, 2, within))
	h.delivered(made.ID, "delivered", 2)
	s.rows("delivered", 2)
	s.has("#endpoint .tree", "2 sent again of 2")

	receiver.Forget()
	s.click(`[data-op="webhooks.send_test"]`)
	s.has("#toasts", "Delivery ")
	h.delivered(made.ID, "delivered", 3)
	s.rows("delivered", 3)
	if m := receiver.WaitFor(t, 1, within)[0]; m.Type != "webhook.test" || m.Unverified != nil {
		t.Errorf("the test is a %s (%v)", m.Type, m.Unverified)
	}
	s.click("#deliveries [data-open]")
	s.has("#delivery", "webhook.test")
	s.click(`[data-op="webhooks.redeliver"]`)
	receiver.WaitFor(t, 2, within)
	h.delivered(made.ID, "delivered", 3)
	s.wait(`document.querySelectorAll("#delivery .attempts > li").length === 2`)
}
