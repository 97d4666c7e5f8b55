package opshttp_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/postbus/postbus/ops"
	opshttp "github.com/postbus/postbus/ops/http"
)

// Each class of failure has its status and code, and the field that is wrong.
func TestFailures(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.job(t, "bob")
	mine := `{"id":"` + id + `"}`
	for _, c := range []struct {
		name, token, op, body string
		header                []string
		status                int
		code                  ops.Code
	}{
		{"nobody", "", "tasks.get", mine, nil, 401, ops.Unauthenticated},
		{"unknown token", "pb_of-none", "tasks.get", mine, nil, 401, ops.Unauthenticated},
		{"no bearer", "pb_of-look", "tasks.get", mine, []string{"Authorization", "Basic YTpi"}, 401, ops.Unauthenticated},
		{"no token", "pb_of-look", "tasks.get", mine, []string{"Authorization", "Bearer "}, 401, ops.Unauthenticated},
		{"long token", strings.Repeat("x", 600), "tasks.get", mine, nil, 401, ops.Unauthenticated},
		{"reader acts", "pb_of-look", "tasks.retry", mine, nil, 403, ops.Forbidden},
		{"another owner's", "pb_of-ann", "tasks.get", mine, nil, 404, ops.NotFound},
		{"no such job", "pb_of-look", "tasks.get", `{"id":"999999"}`, nil, 404, ops.NotFound},
		{"no such operation", "pb_of-look", "tasks.gte", mine, nil, 404, ops.NotFound},
		{"form", "pb_of-look", "tasks.get", mine, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, ops.Invalid},
		{"no type", "pb_of-look", "tasks.get", mine, []string{"Content-Type", ""}, 415, ops.Invalid},
		{"odd type", "pb_of-look", "tasks.get", mine, []string{"Content-Type", "application/json; charset"}, 415, ops.Invalid},
		{"packed", "pb_of-look", "tasks.get", mine, []string{"Content-Encoding", "gzip"}, 415, ops.Invalid},
		{"no JSON", "pb_of-look", "tasks.get", `{"id":`, nil, 422, ops.Invalid},
		{"empty is {}", "pb_of-look", "tasks.get", ``, []string{"Content-Type", ""}, 422, ops.Invalid},
		{"wrong type", "pb_of-look", "tasks.get", `{"id":1}`, nil, 422, ops.Invalid},
		{"too large", "pb_of-look", "tasks.get", strings.Repeat(" ", ops.MaxInput+1), nil, 413, ops.TooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rec := r.post(t, c.token, c.op, c.body, c.header...)
			p := wantProblem(t, rec, c.status, c.code)
			if challenged := strings.HasPrefix(rec.Header().Get("WWW-Authenticate"), "Bearer"); challenged != (c.status == 401) {
				t.Errorf("WWW-Authenticate: %q", rec.Header().Get("WWW-Authenticate"))
			}
			if fields := c.name == "wrong type" || c.name == "empty is {}"; fields && (len(p.Errors) != 1 || p.Errors[0].Message == "") {
				t.Errorf("errors: %+v", p.Errors)
			}
		})
	}
}

// A body of a length that nobody said is cut at the limit.
func TestTooLargeUnannounced(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	body := io.LimitReader(endless{}, 10<<20)
	wantProblem(t, post(t, r.handler, "pb_of-look", "tasks.get", struct{ io.Reader }{body}), 413, ops.TooLarge)
	if left := body.(*io.LimitedReader).N; left < 8<<20 {
		t.Errorf("%d bytes were read", 10<<20-left)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// What is not served answers a problem too, with the way on.
func TestNowhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct {
		method, path string
		status       int
		code         ops.Code
		allow, says  string
	}{
		{"GET", "/api/v1/tasks.get", 405, ops.Invalid, "POST", "POST"},
		{"DELETE", "/api/v1/tasks.get", 405, ops.Invalid, "POST", "POST"},
		{"POST", "/api/openapi.json", 405, ops.Invalid, "GET, HEAD", "GET"},
		{"POST", "/api/v1/tasks.gte", 404, ops.NotFound, "", "tasks.get"},
		{"POST", "/api/v1/task.get", 404, ops.NotFound, "", "/api/openapi.json"},
		{"POST", "/api/v1/tasks.get/", 404, ops.NotFound, "", "tasks.get"},
		{"POST", "/api/v1/" + strings.Repeat("x", 9000), 404, ops.NotFound, "", "/api/openapi.json"},
		{"GET", "/", 404, ops.NotFound, "", "/api/v1/"},
	} {
		rec := httptest.NewRecorder()
		r.handler.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil))
		p := wantProblem(t, rec, c.status, c.code)
		if rec.Header().Get("Allow") != c.allow || !strings.Contains(p.Detail, c.says) || len(p.Detail) > 2000 {
			t.Errorf("%s %.40s: Allow %q, %.200q", c.method, c.path, rec.Header().Get("Allow"), p.Detail)
		}
	}
}

// A failure of ours is in the log with the request's id and gives nothing away; one that passes says when to try again.
func TestFailuresOfOurs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	limited := fmt.Errorf("login: %w", &ops.Error{Code: ops.RateLimited, Message: "too many logins", RetryAfter: 2})
	for _, c := range []struct {
		name   string
		auth   func() error
		cfg    opshttp.Config
		status int
		code   ops.Code
		after  string
		logged string
	}{
		{"unknown error", func() error { return errors.New("select secret") }, opshttp.Config{}, 500, ops.Internal, "", "select secret"},
		{"panic", func() error { panic("select secret panics") }, opshttp.Config{}, 500, ops.Internal, "", "select secret panics"},
		{"rate limit", func() error { return limited }, opshttp.Config{}, 429, ops.RateLimited, "2", ""},
		{"too late", func() error { return nil }, opshttp.Config{Timeout: time.Nanosecond}, 503, ops.Unavailable, "1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			id := "id-" + strings.ReplaceAll(c.name, " ", "-")
			handler := r.face(t, func(*http.Request) (ops.Identity, error) { return callers["pb_of-look"], c.auth() }, c.cfg)
			rec := post(t, handler, "", "tasks.get", strings.NewReader(`{"id":"1"}`), "X-Request-Id", id)
			p := wantProblem(t, rec, c.status, c.code)
			if rec.Header().Get("Retry-After") != c.after || strings.Contains(p.Detail, "select") {
				t.Errorf("Retry-After %q, %q", rec.Header().Get("Retry-After"), p.Detail)
			}
			log := r.log.String()
			if (c.logged != "") != strings.Contains(log, "request_id="+id) || !strings.Contains(log, c.logged) {
				t.Errorf("log: %s", log)
			}
		})
	}
}

// An error of the database that nobody foresaw gives nothing away.
func TestUnforeseen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.job(t, "ann")
	_, err := r.pool.Exec(t.Context(), `drop table postbus.audit cascade`)
	must(t, err)
	p := wantProblem(t, r.post(t, "pb_of-actor", "tasks.retry", `{"id":"`+id+`"}`, "X-Request-Id", "lost-audit"), 500, ops.Internal)
	if n := strings.Count(r.log.String(), "request_id=lost-audit"); n != 1 {
		t.Errorf("logged %d times, want once", n)
	}
	if strings.Contains(p.Detail, "audit") || !strings.Contains(r.log.String(), "request_id=lost-audit") || !strings.Contains(r.log.String(), "42P01") {
		t.Errorf("told %q, logged %s", p.Detail, r.log)
	}
}

// A body that does not come is given up.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	server := httptest.NewServer(r.face(t, opshttp.Bearer(check), opshttp.Config{Timeout: 50 * time.Millisecond}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	must(t, err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, "POST /api/v1/tasks.get HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer pb_of-look\r\n"+
		"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	must(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	if _ = answer.Body.Close(); answer.StatusCode != http.StatusRequestTimeout {
		t.Errorf("status %d", answer.StatusCode)
	}
}
