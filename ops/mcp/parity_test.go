package opsmcp

import (
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postbus/postbus/ops"
)

func toolsOf(t *testing.T, session *mcp.ClientSession) map[string]*mcp.Tool {
	t.Helper()
	tools := map[string]*mcp.Tool{}
	for shown, err := range session.Tools(t.Context(), nil) {
		must(t, err)
		if tools[shown.Name] != nil {
			t.Errorf("two tools %q", shown.Name)
		}
		tools[shown.Name] = shown
	}
	return tools
}

// Every operation is one tool with the operation's own schemas.
func TestEveryOperationIsATool(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	tools := toolsOf(t, overHTTP(t, serveHTTP(t, New(b.reg, Config{})), "admin"))
	if len(tools) != len(b.reg.All()) {
		t.Errorf("%d tools for %d operations", len(tools), len(b.reg.All()))
	}
	allowed := regexp.MustCompile(`^[a-z0-9_]{1,40}$`)
	for _, o := range b.reg.All() {
		name := strings.ReplaceAll(o.Name, ".", "_")
		shown := tools[name]
		if shown == nil {
			t.Errorf("%s has no tool", o.Name)
			continue
		}
		if !allowed.MatchString(name) {
			t.Errorf("the name %q: clients allow lower-case, digits, _ and 40 bytes", name)
		}
		if shown.Description != o.Summary || o.Summary == "" {
			t.Errorf("%s: description %q, summary %q", name, shown.Description, o.Summary)
		}
		input, output := shown.InputSchema.(map[string]any), shown.OutputSchema.(map[string]any)
		if o.Destructive {
			input, output = withoutConfirm(t, name, input), outputOf(t, name, output)
		}
		if isList(o) {
			limit := input["properties"].(map[string]any)["limit"].(map[string]any)
			if limit["description"] != "How many entries; 20 when left out, and never more than 50" {
				t.Errorf("%s: limit says %q", name, limit["description"])
			}
			limit["description"] = o.Input.Properties["limit"].Description
		}
		if got, want := canonical(t, input), canonical(t, o.Input); got != want {
			t.Errorf("%s input:\n got %s\nwant %s", name, got, want)
		}
		if got, want := canonical(t, output), canonical(t, o.Output); got != want {
			t.Errorf("%s output:\n got %s\nwant %s", name, got, want)
		}
		if strings.Contains(canonical(t, shown), `"$ref"`) || output["type"] != "object" {
			t.Errorf("%s: a schema refers to another, or the output is no object", name)
		}
		checkHints(t, o, shown.Annotations)
	}
}

func withoutConfirm(t *testing.T, name string, input map[string]any) map[string]any {
	t.Helper()
	properties, _ := input["properties"].(map[string]any)
	if token, _ := properties[confirm].(map[string]any); token["type"] != "string" {
		t.Errorf("%s takes no confirm: %v", name, properties)
	}
	if required, _ := input["required"].([]any); len(required) > 0 {
		for _, field := range required {
			if field == confirm {
				t.Errorf("%s: confirm is required", name)
			}
		}
	}
	delete(properties, confirm)
	if len(properties) == 0 {
		delete(input, "properties")
	}
	return input
}

func outputOf(t *testing.T, name string, output map[string]any) map[string]any {
	t.Helper()
	properties, _ := output["properties"].(map[string]any)
	dryRun, _ := properties["dry_run"].(map[string]any)
	if fields, _ := dryRun["properties"].(map[string]any); fields["would"] == nil || fields["count"] == nil || fields["confirm"] == nil {
		t.Errorf("%s: dry_run %v", name, dryRun)
	}
	if output["type"] != "object" || output["required"] != nil || output["oneOf"] != nil {
		t.Errorf("%s: output %v is not an object of two optional properties", name, output)
	}
	inner, _ := properties["output"].(map[string]any)
	return inner
}

func checkHints(t *testing.T, o *ops.Operation, hints *mcp.ToolAnnotations) {
	t.Helper()
	switch {
	case hints == nil || hints.DestructiveHint == nil || hints.OpenWorldHint == nil:
		t.Errorf("%s: annotations %+v", o.Name, hints)
	case hints.ReadOnlyHint == o.Writes() || *hints.DestructiveHint != o.Destructive || *hints.OpenWorldHint:
		t.Errorf("%s: annotations %+v", o.Name, hints)
	case hints.IdempotentHint != (o.Idempotent || !o.Writes()):
		t.Errorf("%s: idempotent %v", o.Name, hints.IdempotentHint)
	}
}

// The names that this face uses for itself are no operation's.
func TestNoOperationHasAPropertyConfirm(t *testing.T) {
	t.Parallel()
	for _, o := range newBus(t).reg.All() {
		if o.Destructive && o.Input.Properties[confirm] != nil {
			t.Errorf("%s has a property %q of its own", o.Name, confirm)
		}
	}
}

// ReadOnly leaves out every operation that writes; calling one is an unknown tool.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	session := overHTTP(t, serveHTTP(t, New(b.reg, Config{ReadOnly: true})), "admin")
	tools := toolsOf(t, session)
	for _, o := range b.reg.All() {
		name := strings.ReplaceAll(o.Name, ".", "_")
		if (tools[name] != nil) == o.Writes() {
			t.Errorf("%s writes: %v, is there: %v", name, o.Writes(), tools[name] != nil)
		}
	}
	id := b.enqueue(t, "ann")
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "tasks_retry", Arguments: map[string]any{"id": id}}); err == nil {
		t.Error("a read-only server retried a job")
	}
	if text, failed := call(t, session, "tasks_get", map[string]any{"id": id}); failed {
		t.Error(text)
	}
}
