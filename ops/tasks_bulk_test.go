package ops

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// carriesOn does the act to its end, as its job would.
func carriesOn(t testing.TB, r *Registry, id string) {
	t.Helper()
	if err := r.deps.Bulk.Kinds()[0].Handle(t.Context(), json.RawMessage(fmt.Sprintf(`{"act_id":%q}`, id))); err != nil {
		t.Fatal(err)
	}
}

func bulkIDs(page Listed[BulkAct]) (ids []string) {
	for _, act := range page.Items {
		ids = append(ids, act.ID)
	}
	return ids
}

// An act on many jobs is confirmed by its count, answers with its id, and can be followed to its end; its start is on record. A
// bound caller acts on its own jobs and sees its own acts.
func TestBulkAct(t *testing.T) {
	t.Parallel()
	r, runtime := fixture(t)
	ann, bob := seedTasks(t, runtime, "ann", 3), seedTasks(t, runtime, "bob", 2)
	discard(t, r, append(ann, bob...)...)

	dry, act := carryOut[BulkAct](t, r, boundTo("ann"), "tasks.retry_all", `{"kinds":["work"]}`)
	if dry.Count != 3 || dry.About || act.State != "pending" || act.Matched != 3 || act.Act != "retry" || act.OwnerID != "ann" || act.Who != boundTo("ann").Name {
		t.Errorf("the dry run is %+v, the act %+v", dry, act)
	}
	want := TaskFilter{Kinds: []string{"work"}, States: []string{"retryable", "discarded"}, OwnerID: "ann"}
	if diff := cmp.Diff(want, act.Filter); diff != "" {
		t.Errorf("the filter (-want +got):\n%s", diff)
	}
	carriesOn(t, r, act.ID)
	done := answerOf[BulkAct](t, r, boundTo("ann"), "tasks.bulk_act", `{"id":"`+act.ID+`"}`)
	if done.State != "done" || done.Changed != 3 || done.Seen != 3 || done.Progress != 1 || done.FinishedAt == nil || done.JobID != act.JobID {
		t.Errorf("in the end the act is %+v", done)
	}
	for _, c := range []struct {
		ids   []string
		state string
	}{{ann, "pending"}, {bob, "discarded"}} {
		for _, id := range c.ids {
			if task := answerOf[Task](t, r, operator, "tasks.get", `{"id":"`+id+`"}`); task.State != c.state {
				t.Errorf("job %s of %s is %s, want %s", id, task.OwnerID, task.State, c.state)
			}
		}
	}
	lines := answerOf[Listed[AuditLine]](t, r, boundTo("ann"), "audit.list", `{"operation":"tasks.retry_all"}`).Items
	if len(lines) != 1 || lines[0].Result != "ok" {
		t.Errorf("on record: %+v", lines)
	}
	refused(t, r, boundTo("bob"), "tasks.bulk_act", `{"id":"`+act.ID+`"}`, NotFound)
	refused(t, r, boundTo("bob"), "tasks.stop_bulk_act", `{"id":"`+act.ID+`"}`, NotFound)
	refused(t, r, boundTo("bob"), "tasks.cancel_all", `{"owner_id":"ann"}`, Forbidden)
	if n := len(answerOf[Listed[BulkAct]](t, r, boundTo("bob"), "tasks.bulk_acts", `{}`).Items); n != 0 {
		t.Errorf("bob sees %d acts of ann's", n)
	}
}

func TestBulkActsOfEachKind(t *testing.T) {
	t.Parallel()
	r, runtime := fixture(t)
	discard(t, r, seedTasks(t, runtime, "ann", 4)...)
	seedTasks(t, runtime, "bob", 2)
	args := `{"owner_id":"ann","since":"2020-01-02T03:04:05Z","until":"2100-01-02T03:04:05Z"`
	_, noted := carryOut[BulkAct](t, r, operator, "tasks.acknowledge_all", args+`}`)
	carriesOn(t, r, noted.ID)
	_, stopped := carryOut[BulkAct](t, r, operator, "tasks.cancel_all", args+`}`)
	dry, ended := carryOut[BulkAct](t, r, operator, "tasks.stop_bulk_act", `{"id":"`+stopped.ID+`"}`)
	if dry.Count != 1 || ended.State != "cancelled" {
		t.Errorf("the dry run is %+v, the stopped act %+v", dry, ended)
	}
	carriesOn(t, r, stopped.ID)
	_, cancelled := carryOut[BulkAct](t, r, operator, "tasks.cancel_all", `{"args":{"none":1}}`)
	carriesOn(t, r, cancelled.ID)

	page := answerOf[Listed[BulkAct]](t, r, operator, "tasks.bulk_acts", `{"limit":2}`)
	rest := answerOf[Listed[BulkAct]](t, r, operator, "tasks.bulk_acts", `{"cursor":"`+page.Next+`"}`)
	if diff := cmp.Diff([]string{cancelled.ID, stopped.ID, noted.ID}, append(bulkIDs(page), bulkIDs(rest)...)); diff != "" {
		t.Errorf("the list (-want +got):\n%s", diff)
	}
	for input, want := range map[string]string{`{"act":"acknowledge"}`: noted.ID, `{"state":"cancelled"}`: stopped.ID, `{"act":"cancel","state":"done"}`: cancelled.ID} {
		if got := bulkIDs(answerOf[Listed[BulkAct]](t, r, operator, "tasks.bulk_acts", input)); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v, want %s", input, got, want)
		}
	}
	changed := map[string]int64{}
	for _, act := range append(page.Items, rest.Items...) {
		changed[act.ID] = act.Changed
	}
	if diff := cmp.Diff(map[string]int64{noted.ID: 4, stopped.ID: 0, cancelled.ID: 0}, changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	refused(t, r, operator, "tasks.retry_all", `{"states":["running"]}`, Invalid)
	refused(t, r, operator, "tasks.bulk_acts", `{"cursor":"x"}`, Invalid)
	refused(t, r, operator, "tasks.bulk_act", `{"id":"x"}`, NotFound)
}
