package opsmcp

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/ops"
)

// A panic in an operation is logged and answered as an internal error, over both transports; the process goes on.
func TestPanic(t *testing.T) {
	t.Parallel()
	reg, err := ops.New(ops.Deps{}) // without a runtime to ask, tasks.get panics
	must(t, err)
	var log strings.Builder
	s := New(reg, Config{Log: testdb.Logged(slog.NewTextHandler(&log, nil))})
	stdio, _ := piped(t, s, people["admin"])
	for _, session := range []*mcp.ClientSession{stdio, overHTTP(t, serveHTTP(t, s), "admin")} {
		for range 2 {
			text, failed := call(t, session, "tasks_get", map[string]any{"id": "1"})
			if e := told(t, text); !failed || e.Code != ops.Internal || strings.Contains(text, "nil") {
				t.Errorf("answered %s", text)
			}
		}
	}
	if !strings.Contains(log.String(), "operation panicked") || !strings.Contains(log.String(), "tasks.get") {
		t.Errorf("the log has %.200q", log.String())
	}
}
