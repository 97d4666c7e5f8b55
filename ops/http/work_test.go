package opshttp_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/ops"
)

// A worker that speaks HTTP alone, over real sockets: it waits for work, holds it longer, completes it; what it lost is refused with
// a code of its own. None of it leaves an audit line.
func TestWorkOverHTTP(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	server := httptest.NewServer(r.handler)
	t.Cleanup(server.Close)
	do := func(token, operation string, in any, out any) int {
		t.Helper()
		raw, err := json.Marshal(in)
		must(t, err)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/v1/"+operation, bytes.NewReader(raw))
		must(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := server.Client().Do(req)
		must(t, err)
		defer resp.Body.Close()
		must(t, json.NewDecoder(resp.Body).Decode(out))
		return resp.StatusCode
	}
	const worker = "pb_of-worker"
	var done struct{ Done bool }
	if status := do("pb_of-actor", "work.declare", map[string]any{"name": "print", "max_attempts": 3, "wait_seconds": []float64{0}}, &done); status != 200 {
		t.Fatalf("declare: %d", status)
	}
	var problem struct{ Code ops.Code }
	for _, other := range []string{"pb_of-look", "pb_of-actor", "pb_of-ann"} {
		if status := do(other, "work.claim", map[string]any{"kinds": []string{"print"}, "worker": "w"}, &problem); status != 403 {
			t.Errorf("a claim by %s answers %d", other, status)
		}
	}
	claim := func(lease, wait float64) (items []ops.WorkItem) {
		t.Helper()
		var out ops.WorkItems
		in := map[string]any{"kinds": []string{"print"}, "worker": "w", "lease_seconds": lease, "wait_seconds": wait}
		if status := do(worker, "work.claim", in, &out); status != 200 {
			t.Fatalf("claim: %d", status)
		}
		return out.Items
	}
	if items := claim(60, 0); len(items) != 0 {
		t.Fatalf("claimed %+v of nothing", items)
	}
	id, err := r.runtime.Enqueue(t.Context(), "print", json.RawMessage(`{"order": 9007199254740993}`), jobs.EnqueueOpts{
		Queue: jobs.ExternalQueues + "print", MaxAttempts: 3, RunAt: time.Now().Add(1500 * time.Millisecond),
	})
	must(t, err)
	first := claim(1, 20) // it waits until the job falls due
	if len(first) != 1 || first[0].JobID != string(id) || string(first[0].Args) != `{"order":9007199254740993}` {
		t.Fatalf("claimed %+v", first)
	}
	second := claim(60, 20) // and until the first lease has ended
	if len(second) != 1 || second[0].Attempt != 2 || second[0].ID == first[0].ID {
		t.Fatalf("claimed %+v", second)
	}
	if status := do(worker, "work.complete", map[string]any{"id": first[0].ID}, &problem); status != 409 || problem.Code != ops.LeaseLost {
		t.Errorf("completing what was lost answers %d %s", status, problem.Code)
	}
	var until ops.WorkUntil
	if status := do(worker, "work.extend", map[string]any{"id": second[0].ID, "lease_seconds": 600}, &until); status != 200 || !until.LeaseUntil.After(second[0].LeaseUntil) {
		t.Errorf("extend: %d %v", status, until.LeaseUntil)
	}
	var state ops.WorkState
	if status := do(worker, "work.fail", map[string]any{"id": second[0].ID, "error": "no ink"}, &state); status != 200 || state.State != string(jobs.Retryable) {
		t.Errorf("fail: %d %s", status, state.State)
	}
	third := claim(60, 20)
	if len(third) != 1 || third[0].Attempt != 3 {
		t.Fatalf("claimed %+v", third)
	}
	if status := do(worker, "work.complete", map[string]any{"id": third[0].ID, "result": map[string]int{"pages": 3}}, &state); status != 200 || state.State != string(jobs.Completed) {
		t.Errorf("complete: %d %s", status, state.State)
	}
	wait.Eventually(t, 10*time.Second, func() (bool, string) {
		job, err := r.runtime.Inspector().Get(t.Context(), id)
		must(t, err)
		return job.State == jobs.Completed && string(job.Result) == `{"pages":3}` && len(job.Errors) == 2, "the job is " + string(job.State)
	})
	var lines int
	must(t, r.pool.QueryRow(t.Context(), `select count(*) from postbus.audit where operation like 'work.%' and operation <> 'work.declare' and who = 'token:worker'`).Scan(&lines))
	if lines != 0 {
		t.Errorf("%d audit lines of a worker's calls", lines)
	}
}
