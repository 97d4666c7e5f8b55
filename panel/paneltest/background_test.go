package paneltest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/ops"
)

// given puts n jobs that were given up into a queue that nobody works.
func (h *house) given(queue string, n int) {
	h.t.Helper()
	_, err := h.pool.Exec(h.t.Context(), `insert into postbus.river_job (kind, queue, args, max_attempts, attempt, metadata, state, finalized_at)
		select 'work', $1, jsonb_build_object('n', n), 20, 20, '{"owner": "ann"}', 'discarded', now() from generate_series(1, $2::int) n`, queue, n)
	h.must(err)
}

// states counts the jobs of a queue by state.
func (h *house) states(queue string) string {
	h.t.Helper()
	var text string
	h.must(h.pool.QueryRow(h.t.Context(), `select coalesce(string_agg(state || ' ' || n, ', ' order by state), '') from
		(select state::text as state, count(*) as n from postbus.river_job where queue = $1 group by state) s`, queue).Scan(&text))
	return text
}

// all presses one of the acts on all that match.
func (s *screen) all(op string) {
	s.h.t.Helper()
	s.click("#matching summary")
	s.click(`#matching [hx-post="act?op=` + op + `"]`)
	s.wait(`document.querySelector("dialog[open] [data-confirm]")`)
}

// "All that match" acts on every job of the filter, whatever the page shows and whatever is ticked on it, and on no other.
func TestAllThatMatch(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	h.given("flood", 450)
	h.given("other", 3)
	s := h.open("jobs?states=discarded&queues=flood")
	s.wait(`document.querySelectorAll("[data-row]").length > 1`)
	if shown := script[int](s, `document.querySelectorAll("[data-row]").length`); shown >= 450 {
		t.Fatalf("the page shows all %d", shown)
	}
	s.click(`[data-row] input[name="ids"]`)
	s.shows("[data-ticked]", "1 selected")
	s.all("tasks.retry_all")
	s.shows("dialog .big strong", "450")
	s.confirm()
	s.has("#toasts", "it runs in the background")
	s.click("#toasts a")
	s.shows(`#acts [data-row] .state`, "done")
	s.has("#acts", "450 of 450")
	if got := h.states("flood") + "; " + h.states("other"); got != "available 450; discarded 3" {
		t.Errorf("the jobs are %s", got)
	}
}

// An act on many jobs shows how far it is while it works, on the jobs' page and on its own, also after it was loaded anew.
func TestProgressOfAnActIsShown(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	h.given("flood", 2500)
	tx, err := h.pool.Begin(t.Context()) // the last chunk waits for its oldest job
	h.must(err)
	_, err = tx.Exec(t.Context(), `select from postbus.river_job where id = (select min(id) from postbus.river_job where queue = 'flood') for update`)
	h.must(err)
	s := h.open("jobs?queues=flood")
	other := h.open("acts")
	other.has(".empty", "No act here")
	s.all("tasks.cancel_all")
	s.has("dialog .big", "2\u202f500")
	s.confirm()
	s.wait(`document.querySelector("#acts-now progress")?.value === 0.8`)
	other.has("#acts [data-row]", "2\u202f000 of 2\u202f500")
	other.wait(`document.querySelector("#acts progress").value === 0.8`)
	other.has("#acts [data-row] .state", "running")
	for _, again := range []*screen{s, other} {
		h.must(again.Reload())
		again.wait(`document.documentElement.dataset.live === "live" && document.querySelector("progress")?.value === 0.8`)
		script[any](again, `window.stayed = true`)
	}
	h.must(tx.Rollback(t.Context()))
	s.gone("#acts-now progress")
	other.has("#acts [data-row] .state", "done")
	other.has("#acts [data-row]", "2\u202f500 of 2\u202f500")
	if !script[bool](s, `window.stayed === true`) || !script[bool](other, `window.stayed === true`) {
		t.Error("a page was loaded anew")
	}
}

// An act that failed goes on from where it was; one that is stopped changes nothing any more.
func TestActGoesOnAndStops(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	h.given("flood", 3)
	h.stop() // nobody works
	failed := do[ops.BulkAct](h, "tasks.acknowledge_all", object{"queues": []string{"flood"}})
	_, err := h.pool.Exec(t.Context(), `update postbus.bulk_acts set state = 'failed', last_error = 'the disk was full', updated_at = clock_timestamp(), finished_at = clock_timestamp()`)
	h.must(err)
	stopped := do[ops.BulkAct](h, "tasks.retry_all", object{"queues": []string{"flood"}})
	s := h.open("acts?state=pending")
	s.click(`#act-` + stopped.ID + ` [data-op="tasks.stop_bulk_act"]`)
	s.has("dialog", "end the retry at 0 % of its way")
	s.confirm()
	s.gone(`#act-` + stopped.ID)

	s.goTo(h.url + "acts?act_id=" + failed.ID)
	s.wait(`document.documentElement.dataset.live === "live"`)
	s.shows("#acts .state", "failed")
	s.has("#acts", "the disk was full")
	s.click(`#acts [data-op="tasks.retry"]`)
	s.has("#toasts", "Job "+failed.JobID)
	setUpOn(t, h.pool, nil) // a second process works
	s.shows("#acts .state", "done")
	s.gone(`#acts [data-op]`)
	s.goTo(h.url + "acts")
	s.shows(`#act-`+stopped.ID+` .state`, "cancelled")
	h.stands(stopped.JobID, jobs.Completed)
	if got := h.states("flood"); got != "discarded 3" {
		t.Errorf("the jobs are %s", got)
	}
}

// One event is replayed from its page to a subscription: that one and no other comes to it again, and how far it is is shown.
func TestReplayFromAnEvent(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	var ids []string
	for i := range 3 {
		id := h.record("note.changed", fmt.Sprint("note-", i), object{"n": i})
		ids = append(ids, id)
		wait.Eventually(t, within, func() (bool, string) {
			is := do[ops.EventTree](h, "events.get", object{"id": id})
			return len(is.Fanout) > 0 && is.Fanout[0].Job != nil && is.Fanout[0].Job.State == "completed", "the event is " + is.Status
		})
	}
	s := h.open("events?event=" + ids[1])
	s.click("#replay summary")
	s.wait(`document.querySelector('#replay [name="name"]').value === "notes.index"`)
	s.click("#replay button")
	s.has("#toasts", "The replay is running")
	s.click("#toasts a")
	s.shows("#replays .state", "done")
	s.has("#replays [data-row]", "1 of 1")
	made := do[ops.Listed[ops.Task]](h, "tasks.list", object{"kinds": []string{"notes.index"}}).Items
	got := map[bool]int{}
	for _, job := range made {
		got[strings.Contains(string(job.Args), ids[1])]++
	}
	if got[true] != 2 || got[false] != 2 {
		t.Errorf("there are %d jobs of the event and %d of the others, want 2 and 2", got[true], got[false])
	}
	s.goTo(h.url + "events")
	s.click(`a[href="replays"]`)
	s.click("#replay summary")
	s.typeIn(`#replay [name="name"]`, "nobody.listens")
	s.click("#replay button")
	s.has("dialog .problem", "nobody.listens")
	s.refusedWith(http.StatusUnprocessableEntity)
}

// A replay that walks shows how far it is and can be stopped; nothing more is made of it.
func TestReplayIsStopped(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	id := h.record("note.changed", "note-1", object{})
	wait.Eventually(t, within, func() (bool, string) {
		is := do[ops.EventTree](h, "events.get", object{"id": id}).Status
		return is == "fanned", "the event is " + is
	})
	h.stop() // nobody works
	replay := do[ops.Replay](h, "events.replay", object{"name": "notes.index"})
	s := h.open("replays")
	row := "#replay-" + replay.ID
	s.shows(row+" .state", "running")
	s.has(row, "0 %")
	s.click(row + ` [data-op="events.cancel_replay"]`)
	s.has("dialog", `end the replay to subscription "notes.index"`)
	s.confirm()
	s.shows(row+" .state", "cancelled")
	s.gone(row + " [data-op]")
}

// Who may only read sees how far acts and replays are, and no button; axe finds nothing serious in either view.
func TestBackgroundIsReadable(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	h.stop() // nobody works
	act := do[ops.BulkAct](h, "tasks.retry_all", object{"queues": []string{"flood"}})
	replay := do[ops.Replay](h, "events.replay", object{"name": "notes.index"})
	for _, scope := range []string{"read", "act"} {
		s := h.open("overview", scope)
		for view, selector := range map[string]string{
			"acts": "#act-" + act.ID, "acts?act_id=" + act.ID: "#act-" + act.ID, "replays": "#replay-" + replay.ID, "replays?replay=" + replay.ID: "#replay-" + replay.ID,
		} {
			s.goTo(h.url + view)
			s.wait(`document.documentElement.dataset.live === "live"`)
			s.has(selector, "0 %")
			buttons := script[int](s, `document.querySelectorAll("#content [hx-post]").length`)
			if (buttons == 0) != (scope == "read") {
				t.Errorf("%s with the scope %s has %d buttons", view, scope, buttons)
			}
			h.must(s.Run(axe))
			for _, found := range serious(s) {
				t.Errorf("%s: %s", view, found)
			}
		}
	}
}
