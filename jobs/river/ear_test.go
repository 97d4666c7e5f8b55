package river

import (
	"testing"

	"github.com/riverqueue/river/riverdriver"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/pg"
)

// A pause that was heard keeps its queue, and no other, from being fetched from, whatever River's producer knows by then; its end is
// followed by a look. Where something may have been missed, River's polls decide.
func TestPauseIsObeyedWhenItIsHeard(t *testing.T) {
	t.Parallel()
	e := newEar(nil, map[string]int{"q": 1, "other": 1}, testdb.Log())
	p := &pilot{ear: e}
	tell := func(payload string) { e.hear(controlTopic, pg.Notification{Payload: payload}) }
	is := func(what string, held bool) {
		t.Helper()
		if e.holds("q") != held || e.holds("other") || e.holds("foreign") {
			t.Errorf("after %s: q %v, other %v, foreign %v", what, e.holds("q"), e.holds("other"), e.holds("foreign"))
		}
	}
	next := func(topic string) {
		t.Helper()
		select {
		case n := <-e.heard:
			if n.Topic != topic {
				t.Errorf("River hears %+v, want %s", n, topic)
			}
		default:
			t.Errorf("River hears nothing, want %s", topic)
		}
	}
	is("nothing", false)
	tell(`{"action":"pause","queue":"q"}`)
	tell(`{"action":"pause","queue":"foreign"}`)
	tell(`{"action":"pause"`)
	is("a pause", true)
	for range 3 {
		next(controlTopic)
	}
	// There is no database: it must not be asked.
	if got, err := p.JobGetAvailable(t.Context(), nil, nil, &riverdriver.JobGetAvailableParams{Queue: "q"}); err != nil || len(got.Jobs) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
	tell(`{"action":"resume","queue":"q"}`)
	is("its end", false)
	next(insertTopic)
	next(controlTopic)
	tell(`{"action":"pause","queue":"q"}`)
	e.hear(controlTopic, pg.Notification{Resync: true})
	is("a gap", false)
}
