package bulk

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/postbus/postbus/jobs"
)

// Promise: a chunk that fails changes nothing and is tried again by the kind's policy; the setback is on record meanwhile.
func TestFailingChunkIsTriedAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.seed("work", 1500)
	d.watch()
	act := d.start(Spec{Verb: Retry})
	d.do(act.ID, 1, false)
	d.exec(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not today'; end $$;
		create trigger refuse before update on postbus.river_job for each row when (old.kind = 'work') execute function refuse();`)
	if err := d.handled(act.ID); err == nil || jobs.IsDiscard(err) {
		t.Errorf("a failing chunk: %v, want an error that is tried again", err)
	}
	act = d.now(act.ID)
	if act.State != Running || act.Changed != 1000 || !strings.Contains(act.Error, "not today") {
		t.Errorf("after a setback the act is %s, has changed %d and says %q", act.State, act.Changed, act.Error)
	}

	d.exec(`update postbus.river_job set attempt = max_attempts where id = $1::text::bigint`, act.JobID)
	_ = d.handled(act.ID)
	if act = d.now(act.ID); act.State != Failed || act.FinishedAt == nil {
		t.Errorf("after its last attempt the act is %s, ended at %v", act.State, act.FinishedAt)
	}

	d.exec(`drop trigger refuse on postbus.river_job`) // and somebody retries the job
	if err := d.handled(act.ID); err != nil {
		t.Fatal(err)
	}
	if act = d.now(act.ID); act.State != Done || act.Changed != 1500 || act.Error != "" {
		t.Errorf("in the end the act is %s, has changed %d and says %q", act.State, act.Changed, act.Error)
	}
	d.once(1500)
}

// What no attempt will mend fails at once.
func TestHopelessActFails(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	act := d.start(Spec{Verb: Cancel})
	d.exec(`update postbus.bulk_acts set cursor = 'nonsense'`)
	if err := d.handled(act.ID); !jobs.IsDiscard(err) {
		t.Errorf("an act that cannot go on: %v, want it discarded", err)
	}
	want(t, "the state", d.now(act.ID).State, Failed)
	for _, raw := range []string{`{}`, `{"act_id":"x"}`, `7`} {
		if err := d.handle(t.Context(), json.RawMessage(raw)); !jobs.IsDiscard(err) {
			t.Errorf("args %s: %v, want it discarded", raw, err)
		}
	}
	if err := d.handled("00000000-0000-4000-8000-000000000000"); err != nil {
		t.Errorf("an act that was pruned: %v", err)
	}
}

// Promise: an act whose job ended without it ends too, and says why; old acts are forgotten 30 days after their end.
func TestTidy(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	cancelled, gone, discarded, waits, done, old := d.start(Spec{Verb: Retry}), d.start(Spec{Verb: Retry}), d.start(Spec{Verb: Retry}),
		d.start(Spec{Verb: Retry}), d.start(Spec{Verb: Retry}), d.start(Spec{Verb: Retry})
	d.finish(done.ID)
	d.finish(old.ID)
	d.exec(`update postbus.bulk_acts set finished_at = now() - interval '31 days' where id = $1`, old.ID)
	d.exec(`update postbus.bulk_acts set finished_at = now() - interval '29 days' where id = $1`, done.ID)
	d.exec(`update postbus.river_job set state = 'discarded', finalized_at = now() where id = $1::text::bigint`, discarded.JobID)
	d.exec(`delete from postbus.river_job where id = $1::text::bigint`, gone.JobID)
	if _, err := d.runtime.Inspector().Cancel(t.Context(), cancelled.JobID); err != nil {
		t.Fatal(err)
	}
	for range 2 { // acts that have just moved are left alone
		if err := d.tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.exec(`update postbus.bulk_acts set updated_at = updated_at - interval '2 minutes'`)
	}
	for _, c := range []struct {
		act   Act
		state State
		says  string
	}{
		{cancelled, Cancelled, "was cancelled"}, {gone, Failed, "is gone"}, {discarded, Failed, "retry the job"},
		{waits, Pending, ""}, {done, Done, ""},
	} {
		act := d.now(c.act.ID)
		if act.State != c.state || !strings.Contains(act.Error, c.says) {
			t.Errorf("the act is %s and says %q, want %s and %q", act.State, act.Error, c.state, c.says)
		}
	}
	if _, err := d.Get(t.Context(), old.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("the old act: %v, want ErrNotFound", err)
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var all []string
	for n := range 7 {
		owner := []string{"ann", "bob"}[n%2]
		all = append(all, d.start(Spec{Verb: []Verb{Retry, Cancel}[n%2], Filter: jobs.Filter{Owner: owner}}).ID)
	}
	slices.Reverse(all)
	var got []string
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		page, err := d.List(t.Context(), Filter{Limit: 3, Cursor: cursor})
		if err != nil || pages > 3 {
			t.Fatal(pages, err)
		}
		for _, act := range page.Acts {
			got = append(got, act.ID)
		}
		cursor = page.Next
	}
	if !slices.Equal(got, all) {
		t.Errorf("the pages together are %v, want %v", got, all)
	}
	for name, c := range map[string]struct {
		filter Filter
		want   int
	}{"owner": {Filter{Owner: "ann"}, 4}, "verb": {Filter{Verb: Cancel}, 3}, "state": {Filter{State: Running}, 0}} {
		if page, err := d.List(t.Context(), c.filter); err != nil || len(page.Acts) != c.want {
			t.Errorf("by %s: %d acts, %v, want %d", name, len(page.Acts), err, c.want)
		}
	}
	for _, cursor := range []string{"x", "YjE", "YjEu", "!"} {
		if _, err := d.List(t.Context(), Filter{Cursor: cursor}); !errors.Is(err, jobs.ErrInvalid) {
			t.Errorf("cursor %q: %v, want ErrInvalid", cursor, err)
		}
	}
	if _, err := d.Get(t.Context(), "x"); !errors.Is(err, ErrNotFound) {
		t.Errorf("an id that is none: %v", err)
	}
}
