package opshttp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/postbus/postbus/ops"
	opshttp "github.com/postbus/postbus/ops/http"
)

// An operation is POST {prefix}/v1/{name} and answers its output; its audit line says it came over HTTP.
func TestCallAnswersTheOutput(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.job(t, "ann")
	for _, contentType := range []string{"application/json", "application/json; charset=utf-8", "application/vnd.any+json"} {
		rec := r.post(t, "pb_of-look", "tasks.get", `{"id":"`+id+`"}`, "Content-Type", contentType)
		var task ops.Task
		if err := json.Unmarshal(rec.Body.Bytes(), &task); err != nil || rec.Code != http.StatusOK || task.ID != id || task.OwnerID != "ann" {
			t.Errorf("%d %s, %v", rec.Code, rec.Body, err)
		}
		for name, want := range map[string]string{
			"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		} {
			if got := rec.Header().Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
	if rec := r.post(t, "pb_of-actor", "tasks.retry", `{"id":"`+id+`"}`); rec.Code != http.StatusOK {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	var line string
	err := r.pool.QueryRow(t.Context(), `select who || ' ' || face || ' ' || operation || ' ' || result from postbus.audit`).Scan(&line)
	if err != nil || line != "token:actor http tasks.retry ok" {
		t.Errorf("audit %q, %v", line, err)
	}
}

// The prefix is the caller's: the root too.
func TestPrefix(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.job(t, "ann")
	for prefix, path := range map[string]string{"/": "/v1/tasks.get", "/x/y/": "/x/y/v1/tasks.get"} {
		handler := r.face(t, opshttp.Bearer(check), opshttp.Config{Prefix: prefix})
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(`{"id":"`+id+`"}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "bearer pb_of-look")
		rec := httptest.NewRecorder()
		if handler.ServeHTTP(rec, req); rec.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	for _, prefix := range []string{"api", "//", "/a/{b}", "/a b", "/.."} {
		if _, err := opshttp.New(r.reg, opshttp.Bearer(check), opshttp.Config{Prefix: prefix}); err == nil {
			t.Errorf("prefix %q is taken", prefix)
		}
	}
}

// The id of a request is the caller's where it is harmless, else one of ours.
func TestRequestID(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ours := regexp.MustCompile(`^[A-Z0-9]{26}$`)
	for given, kept := range map[string]bool{
		"a-1_b.C": true, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false, "a b": false, "a\nlevel=ERROR": false, "é": false,
	} {
		got := r.post(t, "pb_of-look", "tasks.get", `{}`, "X-Request-Id", given).Header().Get("X-Request-Id")
		if kept != (got == given) || !kept && !ours.MatchString(got) {
			t.Errorf("%q became %q", given, got)
		}
	}
}

// An event that is recorded over HTTP belongs to the caller's trace; a header that is no trace is passed over.
func TestTraceparent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for header, want := range map[string]string{given: given, "": "", "00-no-trace": "", "x\r\ny": ""} {
		rec := r.post(t, "pb_of-admin", "events.record", `{"owner_id":"ann","type":"note.changed","subject":"1"}`, "Traceparent", header)
		var recorded struct{ ID string }
		must(t, json.Unmarshal(rec.Body.Bytes(), &recorded))
		var event struct{ Trace string }
		must(t, json.Unmarshal(r.post(t, "pb_of-admin", "events.get", `{"id":"`+recorded.ID+`"}`).Body.Bytes(), &event))
		if event.Trace != want {
			t.Errorf("%q: the event's trace is %q, want %q", header, event.Trace, want)
		}
	}
}
