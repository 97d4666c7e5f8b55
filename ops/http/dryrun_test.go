package opshttp_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/postbus/postbus/ops"
)

// dryRun calls a destructive operation without a confirmation and answers the token.
func dryRun(t *testing.T, r *rig, token, name, body string) string {
	t.Helper()
	rec := r.post(t, token, name, body)
	var answer map[string]ops.DryRun
	if err := json.Unmarshal(rec.Body.Bytes(), &answer); err != nil || rec.Code != http.StatusOK || len(answer) != 1 {
		t.Fatalf("%d %s, %v", rec.Code, rec.Body, err)
	}
	dry := answer["dry_run"]
	if dry.Would == "" || dry.Count != 1 || dry.Confirm == "" {
		t.Fatalf("dry run %+v", dry)
	}
	return dry.Confirm
}

func (r *rig) state(t *testing.T, id string) string {
	t.Helper()
	var task ops.Task
	must(t, json.Unmarshal(r.post(t, "pb_of-look", "tasks.get", `{"id":"`+id+`"}`).Body.Bytes(), &task))
	return task.State
}

// A destructive operation does nothing without the token of a dry run of the same input by the same caller, and does it with it.
func TestDryRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id, other := r.job(t, "ann"), r.job(t, "ann")
	input, otherInput := `{"id":"`+id+`"}`, `{"id":"`+other+`"}`
	confirm := dryRun(t, r, "pb_of-actor", "tasks.cancel", input)
	wantProblem(t, r.post(t, "pb_of-actor", "tasks.cancel", otherInput, "Confirm", confirm), 409, ops.Conflict)
	wantProblem(t, r.post(t, "pb_of-other", "tasks.cancel", input, "Confirm", confirm), 409, ops.Conflict)
	wantProblem(t, r.post(t, "pb_of-actor", "tasks.cancel", input, "Confirm", confirm[:20]), 409, ops.Conflict)
	if before := r.state(t, id) + r.state(t, other); before != "pendingpending" {
		t.Errorf("a dry run or a refused call left %s", before)
	}
	rec := r.post(t, "pb_of-actor", "tasks.cancel", ` {"id" : "`+id+`"}`, "Confirm", confirm)
	var task ops.Task
	if err := json.Unmarshal(rec.Body.Bytes(), &task); err != nil || rec.Code != http.StatusOK || task.ID != id || task.State != "cancelled" {
		t.Errorf("%d %s, %v", rec.Code, rec.Body, err)
	}
	if after := r.state(t, id) + r.state(t, other); after != "cancelledpending" {
		t.Errorf("after it: %s", after)
	}
}
