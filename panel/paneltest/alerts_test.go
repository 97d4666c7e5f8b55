package paneltest

import (
	"testing"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/ops"
)

// P7: the alert stands while more than 1,000 events wait for a relay, and goes when they are drained, without a reload.
func TestBacklogAlertShowsAndClears(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	h := setUpOn(t, pool, nil)
	h.bus.Events().StopRelay()
	record := func(n int) {
		t.Helper()
		_, err := pool.Exec(t.Context(), `select postbus.record('ann', 'note.moved', 'note-' || n, '{}') from generate_series(1, $1::integer) as n`, n)
		h.must(err)
	}
	s := h.open("overview")
	script[any](s, `window.stayed = true`)
	record(900)
	s.wait(`document.querySelector("#backlog .n").innerText === "900"`)
	if script[bool](s, `document.querySelector("#alert-events_backlog") !== null`) {
		t.Error("900 events raise the alert; the threshold is 1,000")
	}
	record(200)
	s.has("#alert-events_backlog", "events wait for a relay")
	s.has("#alert-events_backlog", "See that a process with the bus runs")

	setUpOn(t, pool, nil) // a second process relays
	s.gone("#alert-events_backlog")
	s.shows("#backlog .n", "0")
	if !script[bool](s, `window.stayed === true`) {
		t.Error("the page was loaded anew")
	}
}

// refuseJobs makes the job table refuse the jobs of events about "bad", as a broken trigger of a user's would.
const refuseJobs = `
create function refuse() returns trigger language plpgsql as $$
begin
    if exists (select from postbus.events where id::text = new.args->>'event_id' and subject = 'bad') then
        raise exception 'no job for this one';
    end if;
    return new;
end $$;
create trigger refuse before insert on postbus.river_job for each row execute function refuse()`

// P7: a poisoned event raises an alert, which leads to its page; there it is requeued and then fanned out.
func TestPoisonedEventIsRequeued(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	_, err := h.pool.Exec(t.Context(), refuseJobs)
	h.must(err)
	id := h.record("note.changed", "bad", object{})
	wait.Eventually(t, within, func() (bool, string) {
		is := do[ops.EventTree](h, "events.get", object{"id": id}).Status
		return is == "poisoned", "the event is " + is
	})
	s := h.open("overview")
	s.has("#alert-events_poisoned", "could not be fanned out")
	s.click("#alert-events_poisoned a")
	s.click(`[data-row="` + id + `"] [data-open]`)
	s.shows("#event .head .state", "poisoned")
	s.has("#event", "no job for this one")
	_, err = h.pool.Exec(t.Context(), `drop trigger refuse on postbus.river_job`)
	h.must(err)
	s.click(`[data-op="events.requeue"]`)
	s.has("#toasts", "Event "+id+" is pending")
	s.shows("#event .head .state", "fanned")
	s.has(`#fanout [data-subscription="notes.index"]`, "completed")
	s.gone(`[data-op="events.requeue"]`)
	s.goTo(h.url + "overview")
	s.gone("#alert-events_poisoned")
}
