package opsmcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postbus/postbus/ops"
)

// piped runs s for who as RunStdio does, over pipes in place of the standard ones, and answers the client and how the run ended.
func piped(t *testing.T, s *Server, who ops.Identity) (*mcp.ClientSession, <-chan error) {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.run(t.Context(), who, &mcp.IOTransport{Reader: in, Writer: out}) }()
	return connect(t, &mcp.IOTransport{Reader: fromServer, Writer: toServer}), ended
}

// Both transports answer the same: what is found, what is refused with its field, what is not there, what is no tool.
func TestBothTransports(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	s := New(b.reg, Config{Name: "bus", Version: "1.2.3"})
	stdio, _ := piped(t, s, people["admin"])
	for name, session := range map[string]*mcp.ClientSession{"http": overHTTP(t, serveHTTP(t, s), "admin"), "stdio": stdio} {
		t.Run(name, func(t *testing.T) {
			if told := session.InitializeResult(); told.ServerInfo.Name != "bus" || told.ServerInfo.Version != "1.2.3" {
				t.Errorf("the server is %+v", told.ServerInfo)
			}
			id := b.enqueue(t, "ann")
			text, failed := call(t, session, "tasks_retry", map[string]any{"id": id})
			if failed || !strings.Contains(text, `"id":"`+id+`"`) {
				t.Errorf("retry: %s", text)
			}
			text, failed = call(t, session, "tasks_get", map[string]any{"id": id, "more": 1})
			if e := told(t, text); !failed || e.Code != ops.Invalid || len(e.Fields) != 1 || !strings.Contains(e.Fields[0].Field, "more") {
				t.Errorf("an unknown argument: %s", text)
			}
			text, failed = call(t, session, "tasks_get", map[string]any{"id": "none"})
			if e := told(t, text); !failed || e.Code != ops.NotFound {
				t.Errorf("no such job: %s", text)
			}
			if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "tasks.get"}); err == nil {
				t.Error("an unknown tool answered")
			}
		})
	}
	var line string
	must(t, b.pool.QueryRow(t.Context(), `select who || ' ' || face || ' ' || operation from postbus.audit limit 1`).Scan(&line))
	if line != "account:root mcp tasks.retry" {
		t.Errorf("audit %q", line)
	}
}

// Standard input closed is a good end; a context that ends is its error.
func TestRunEnds(t *testing.T) {
	t.Parallel()
	s := New(newBus(t).reg, Config{})
	session, ended := piped(t, s, people["reader"])
	must(t, session.Close())
	if err := <-ended; err != nil {
		t.Errorf("the client left: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ours, theirs := mcp.NewInMemoryTransports()
	over := make(chan error, 1)
	go func() { over <- s.run(ctx, people["reader"], ours) }()
	connect(t, theirs)
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Errorf("the context ended: %v", err)
	}
}

// Each HTTP request is answered for the identity it brings and none else.
func TestTwoIdentitiesOnOneHandler(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	url := serveHTTP(t, New(b.reg, Config{}))
	sessions := map[string]*mcp.ClientSession{"ann": overHTTP(t, url, "ann"), "bob": overHTTP(t, url, "bob")}
	ids := map[string]string{"ann": b.enqueue(t, "ann"), "bob": b.enqueue(t, "bob")}
	t.Run("at once", func(t *testing.T) {
		for who, session := range sessions {
			for owner, id := range ids {
				t.Run(who+" asks for "+owner, func(t *testing.T) {
					t.Parallel()
					for range 20 {
						text, failed := call(t, session, "tasks_get", map[string]any{"id": id})
						if failed != (who != owner) || failed && told(t, text).Code != ops.NotFound {
							t.Errorf("failed %v: %s", failed, text)
						}
					}
				})
			}
		}
	})
	reader := overHTTP(t, url, "reader")
	if text, failed := call(t, reader, "tasks_retry", map[string]any{"id": ids["ann"]}); !failed || told(t, text).Code != ops.Forbidden {
		t.Errorf("a reader acts: %s", text)
	}
}

// A session of the library's client goes no further than its token: the identity is asked for with each request.
func TestATokenTakenAway(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	var known atomic.Bool
	known.Store(true)
	auth := func(r *http.Request) (ops.Identity, error) {
		if !known.Load() {
			return ops.Identity{}, nil
		}
		return byToken(r)
	}
	web := serveHandler(t, New(b.reg, Config{}).Handler(auth))
	session := overHTTP(t, web, "admin")
	id := b.enqueue(t, "ann")
	if text, failed := call(t, session, "tasks_get", map[string]any{"id": id}); failed {
		t.Fatal(text)
	}
	known.Store(false)
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "tasks_get", Arguments: map[string]any{"id": id}}); err == nil {
		t.Error("answered without an identity")
	}
}
