package webhooks

import (
	"strings"
	"testing"
)

// A turn that panics costs its own lane an error. The clerk goes on, and so does a lane beside it in the same transaction.
func TestClerkOutlivesAPanic(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	var lanes []laneArgs
	for range 2 {
		id := o.endpoint().ID
		if err := o.fanOut(t.Context(), o.record("a", `{}`)); err != nil {
			t.Fatal(err)
		}
		token := one[string](t, o.pool, `select token::text from postbus.webhook_slots where endpoint_id = $1`, id)
		lanes = append(lanes, laneArgs{EndpointID: id, Token: token})
	}
	o.clerk.start(t.Context())
	t.Cleanup(o.clerk.stop)
	first, err := o.clerk.turn(t.Context(), turn{args: lanes[0]})
	if err != nil || first.next == nil {
		t.Fatalf("%+v, %v", first, err)
	}
	bad, err := o.clerk.ask(t.Context(), turn{args: lanes[0], sent: first.next}) // without a result
	if err != nil {
		t.Fatal(err)
	}
	good, err := o.clerk.ask(t.Context(), turn{args: lanes[1]})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bad.wait(t.Context()); err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("the turn that panics: %v", err)
	}
	if answer, err := good.wait(t.Context()); err != nil || answer.next == nil {
		t.Errorf("the turn beside it: %+v, %v", answer, err)
	}
}
