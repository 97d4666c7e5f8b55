package opsmcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/jobs/river"
	"github.com/postbus/postbus/mail"
	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/webhooks"
)

// bus is a registry over a database whose bus does not run.
type bus struct {
	reg     *ops.Registry
	runtime *river.Runtime
	pool    *pgxpool.Pool
}

func newBus(t testing.TB) bus {
	t.Helper()
	pool := testdb.New(t)
	hooks, err := webhooks.New(pool, webhooks.Config{Keys: []string{"k1:a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="}, Allow: []string{"127.0.0.1"}})
	must(t, err)
	evts, err := events.New(pool, events.Config{
		App: "app", Types: []events.Type{{Name: "note.changed", Exposure: events.Webhook}}, Subscriptions: hooks.Subscriptions(),
	})
	must(t, err)
	evts.AddReplayTarget(hooks.ReplayTarget())
	noop := func(context.Context, json.RawMessage) error { return nil }
	runtime, err := river.New(pool, river.Config{
		App: "app", Kinds: append(append(evts.Kinds(), hooks.Kinds()...), jobs.Kind{Name: "work", Queue: "default", MaxAttempts: 3, Handle: noop}),
		Queues: map[string]int{"default": 1, "maintenance": 1, webhooks.FanoutQueue: 1, webhooks.DeliverQueue: 1, webhooks.FailingQueue: 1},
	})
	must(t, err)
	evts.Bind(runtime)
	hooks.Bind(evts, runtime)
	must(t, evts.Declare(t.Context()))
	mails, err := mail.New(pool, mail.Config{})
	must(t, err)
	mails.Bind(evts, runtime)
	reg, err := ops.New(ops.Deps{Pool: pool, Events: evts, Runtime: runtime, Webhooks: hooks, Mail: mails, Alerts: evts.Alerts, Version: "test"})
	must(t, err)
	return bus{reg: reg, runtime: runtime, pool: pool}
}

// enqueue makes a job of owner's and answers its id.
func (b bus) enqueue(t testing.TB, owner string) string {
	t.Helper()
	id, err := b.runtime.Enqueue(t.Context(), "work", struct{}{}, jobs.EnqueueOpts{Owner: owner})
	must(t, err)
	return string(id)
}

// people are who the tokens of the tests stand for.
var people = map[string]ops.Identity{
	"admin":  {Name: "account:root", Scopes: []ops.Access{ops.Admin}},
	"ann":    {Name: "token:ann", Scopes: []ops.Access{ops.Act}, Owner: "ann"},
	"bob":    {Name: "token:bob", Scopes: []ops.Access{ops.Act}, Owner: "bob"},
	"reader": {Name: "token:reader", Scopes: []ops.Access{ops.Read}},
}

func byToken(r *http.Request) (ops.Identity, error) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	who, ok := people[token]
	if !ok {
		return ops.Identity{}, &ops.Error{Code: ops.Unauthenticated, Message: "no such token"}
	}
	return who, nil
}

// bearer sends a token with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// overHTTP is the library's client of a server at url, with a token.
func overHTTP(t testing.TB, url, token string) *mcp.ClientSession {
	t.Helper()
	return connect(t, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1})
}

func connect(t testing.TB, over mcp.Transport) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), over, nil)
	must(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func serveHTTP(t testing.TB, s *Server) string {
	t.Helper()
	return serveHandler(t, s.Handler(byToken))
}

func serveHandler(t testing.TB, h http.Handler) string {
	t.Helper()
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	return web.URL
}

// call calls a tool that must answer, and answers its text.
func call(t testing.TB, session *mcp.ClientSession, name string, args any) (text string, failed bool) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	must(t, err)
	return textOf(t, result), result.IsError
}

// textOf is the text of a result; structured content, where there is some, must say the same.
func textOf(t testing.TB, result *mcp.CallToolResult) string {
	t.Helper()
	if len(result.Content) != 1 {
		t.Fatalf("%d pieces of content", len(result.Content))
	}
	text := result.Content[0].(*mcp.TextContent).Text
	if result.IsError == (result.StructuredContent != nil) {
		t.Errorf("error %v with structured content %v", result.IsError, result.StructuredContent)
	}
	if !result.IsError && canonical(t, result.StructuredContent) != canonical(t, json.RawMessage(text)) {
		t.Errorf("structured content %v, text %s", result.StructuredContent, text)
	}
	return text
}

// told reads an error result.
func told(t testing.TB, text string) ops.Error {
	t.Helper()
	var e ops.Error
	must(t, json.Unmarshal([]byte(text), &e))
	return e
}

// canonical is JSON with sorted keys.
func canonical(t testing.TB, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	must(t, err)
	var plain any
	must(t, json.Unmarshal(raw, &plain))
	raw, err = json.Marshal(plain)
	must(t, err)
	return string(raw)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
