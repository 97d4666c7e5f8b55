package opshttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/ops"
	opshttp "github.com/postbus/postbus/ops/http"
	"github.com/postbus/postbus/pg"
	"github.com/postbus/postbus/webhooks"
)

func TestMain(m *testing.M) {
	testdb.Run(m, func(ctx context.Context, pool *pgxpool.Pool) error { return pg.Migrate(ctx, pool, river.Migrator()) })
}

const sealingKey = "k1:a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="

// callers are whom the tokens of the tests belong to.
var callers = map[string]ops.Identity{
	"pb_of-admin":  {Name: "token:admin", Scopes: []ops.Access{ops.Admin}},
	"pb_of-actor":  {Name: "token:actor", Scopes: []ops.Access{ops.Act}},
	"pb_of-other":  {Name: "token:other", Scopes: []ops.Access{ops.Act}},
	"pb_of-worker": {Name: "token:worker", Scopes: []ops.Access{ops.Work}},
	"pb_of-look":   {Name: "token:look", Scopes: []ops.Access{ops.Read}},
	"pb_of-ann":    {Name: "token:ann", Scopes: []ops.Access{ops.Admin}, Owner: "ann"},
}

func check(_ context.Context, token string) (ops.Identity, error) {
	if who, ok := callers[token]; ok {
		return who, nil
	}
	return ops.Identity{}, &ops.Error{Code: ops.Unauthenticated, Message: "the token is not known"}
}

// rig is a registry over a database whose bus does not run, and its HTTP face.
type rig struct {
	pool    *pgxpool.Pool
	reg     *ops.Registry
	runtime *river.Runtime
	bus     *events.Bus
	hooks   *webhooks.Service
	handler http.Handler
	log     *lines
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{pool: testdb.New(t), log: &lines{}}
	logger := testdb.Logged(slog.NewTextHandler(r.log, nil))
	var err error
	r.hooks, err = webhooks.New(r.pool, webhooks.Config{Keys: []string{sealingKey}, Allow: []string{"127.0.0.1"}})
	must(t, err)
	r.bus, err = events.New(r.pool, events.Config{
		App: "app", Types: []events.Type{{Name: "note.changed", Exposure: events.Webhook}}, Subscriptions: r.hooks.Subscriptions(),
	})
	must(t, err)
	r.bus.AddReplayTarget(r.hooks.ReplayTarget())
	noop := func(context.Context, json.RawMessage) error { return nil }
	r.runtime, err = river.New(r.pool, river.Config{
		App: "app", Kinds: append(append(r.bus.Kinds(), r.hooks.Kinds()...), jobs.Kind{Name: "work", Queue: "default", MaxAttempts: 3, Handle: noop}),
		Queues: map[string]int{"default": 1, "maintenance": 1, webhooks.FanoutQueue: 1, webhooks.DeliverQueue: 1, webhooks.FailingQueue: 1},
	})
	must(t, err)
	r.bus.Bind(r.runtime)
	r.hooks.Bind(r.bus, r.runtime)
	must(t, r.bus.Declare(t.Context()))
	r.reg, err = ops.New(ops.Deps{
		Pool: r.pool, Events: r.bus, Runtime: r.runtime, Webhooks: r.hooks, Alerts: r.bus.Alerts, Version: "test", Log: logger,
	})
	must(t, err)
	r.handler = r.face(t, opshttp.Bearer(check), opshttp.Config{})
	return r
}

// face is another face of the same registry.
func (r *rig) face(t testing.TB, auth opshttp.Authenticate, cfg opshttp.Config) http.Handler {
	t.Helper()
	cfg.Log = testdb.Logged(slog.NewTextHandler(r.log, nil))
	handler, err := opshttp.New(r.reg, auth, cfg)
	must(t, err)
	return handler
}

// job enqueues one of an owner's.
func (r *rig) job(t testing.TB, owner string) string {
	t.Helper()
	id, err := r.runtime.Enqueue(t.Context(), "work", struct{}{}, jobs.EnqueueOpts{Owner: owner})
	must(t, err)
	return string(id)
}

// post calls an operation with a token; header is pairs of name and value, in which an empty value takes the header away.
func post(t testing.TB, handler http.Handler, token, name string, body io.Reader, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/"+name, body)
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		if req.Header.Set(header[i], header[i+1]); header[i+1] == "" {
			req.Header.Del(header[i])
		}
	}
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, req)
	return rec
}

func (r *rig) post(t testing.TB, token, name, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	return post(t, r.handler, token, name, strings.NewReader(body), header...)
}

// wantProblem holds an answer against the shape and the code of a failure.
func wantProblem(t testing.TB, rec *httptest.ResponseRecorder, status int, code ops.Code) opshttp.Problem {
	t.Helper()
	var p opshttp.Problem
	if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil {
		t.Fatalf("%d %q is no problem: %v", rec.Code, rec.Body, err)
	}
	if rec.Code != status || p.Status != status || p.Code != code || p.Type != "about:blank" || p.Title != http.StatusText(status) || p.Detail == "" ||
		rec.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %s %s, want %d %s", rec.Code, rec.Header().Get("Content-Type"), rec.Body, status, code)
	}
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lines is a log that is read while it is written.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}
