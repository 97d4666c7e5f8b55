package opsmcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// fits holds a result against the tool's output schema, as clients do.
func fits(t *testing.T, shown *mcp.Tool, result *mcp.CallToolResult) {
	t.Helper()
	raw, err := json.Marshal(shown.OutputSchema)
	must(t, err)
	var schema jsonschema.Schema
	must(t, json.Unmarshal(raw, &schema))
	resolved, err := schema.Resolve(nil)
	must(t, err)
	if err := resolved.Validate(result.StructuredContent); err != nil {
		t.Errorf("%s: %v\n%s", shown.Name, err, textOf(t, result))
	}
}

// What a call answers fits the tool's output schema.
func TestAnswersFitTheirSchemas(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	session := overHTTP(t, serveHTTP(t, New(b.reg, Config{})), "admin")
	tools, id := toolsOf(t, session), b.enqueue(t, "ann")
	try := func(name string, args map[string]any) {
		t.Helper()
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
		must(t, err)
		if result.IsError {
			t.Errorf("%s: %s", name, textOf(t, result))
			return
		}
		fits(t, tools[name], result)
	}
	for _, o := range b.reg.All() {
		if !o.Writes() && len(o.Input.Required) == 0 {
			try(strings.ReplaceAll(o.Name, ".", "_"), nil)
		}
	}
	try("tasks_get", map[string]any{"id": id})
	try("tasks_retry", map[string]any{"id": id})
	for range 2 {
		try("tasks_cancel_many", map[string]any{})
	}
}

// Small pages: 20 entries when limit is left out, never more than 50, and next leads to all of them.
func TestPages(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	for range 63 {
		b.enqueue(t, "ann")
	}
	session := overHTTP(t, serveHTTP(t, New(b.reg, Config{})), "admin")
	sizes := func(args map[string]any) (sizes []int) {
		seen := map[string]bool{}
		for {
			text, failed := call(t, session, "tasks_list", args)
			var page struct {
				Items []struct{ ID string }
				Next  string
			}
			if must(t, json.Unmarshal([]byte(text), &page)); failed {
				t.Fatal(text)
			}
			for _, item := range page.Items {
				seen[item.ID] = true
			}
			if sizes = append(sizes, len(page.Items)); page.Next == "" {
				if len(seen) != 63 {
					t.Errorf("%v: %d jobs of 63", sizes, len(seen))
				}
				return sizes
			}
			args["cursor"] = page.Next
		}
	}
	for name, c := range map[string]struct {
		args map[string]any
		want string
	}{
		"left out": {map[string]any{"kinds": []string{"work"}}, `[20,20,20,3]`},
		"30":       {map[string]any{"kinds": []string{"work"}, "limit": 30}, `[30,30,3]`},
		"200":      {map[string]any{"kinds": []string{"work"}, "limit": 200}, `[50,13]`},
	} {
		if got := canonical(t, sizes(c.args)); got != c.want {
			t.Errorf("limit %s: pages of %s, want %s", name, got, c.want)
		}
	}
	if text, failed := call(t, session, "tasks_list", map[string]any{"limit": 201}); !failed || !strings.Contains(text, "limit") {
		t.Errorf("limit 201: %s", text)
	}
}
