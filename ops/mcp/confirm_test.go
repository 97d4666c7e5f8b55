package opsmcp

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/ops"
)

// cancelled reads what tasks_cancel_many answers.
type cancelled struct {
	DryRun *struct {
		Would   string
		Count   int
		Confirm string
	} `json:"dry_run"`
	Output *struct{ Changed int }
}

func cancelMany(t *testing.T, session *mcp.ClientSession, args map[string]any) (answered cancelled, refused ops.Code) {
	t.Helper()
	text, failed := call(t, session, "tasks_cancel_many", args)
	if failed {
		return answered, told(t, text).Code
	}
	must(t, json.Unmarshal([]byte(text), &answered))
	return answered, ""
}

// A destructive tool does nothing without the token of its dry run, and the token is good for that caller and that input only.
func TestDestructiveToolsConfirm(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	s := New(b.reg, Config{})
	url := serveHTTP(t, s)
	stdio, _ := piped(t, s, people["ann"])
	id := b.enqueue(t, "ann")
	state := func() jobs.State {
		job, err := b.runtime.Inspector().Get(t.Context(), jobs.JobID(id))
		must(t, err)
		return job.State
	}
	ann, bob := overHTTP(t, url, "ann"), overHTTP(t, url, "bob")
	dry, refused := cancelMany(t, ann, map[string]any{"kinds": []string{"work"}})
	if refused != "" || dry.DryRun == nil || dry.Output != nil || dry.DryRun.Count != 1 || dry.DryRun.Would == "" || dry.DryRun.Confirm == "" {
		t.Fatalf("the first call: %+v, %s", dry, refused)
	}
	token := dry.DryRun.Confirm
	if again, _ := cancelMany(t, ann, map[string]any{"kinds": []string{"work"}, "confirm": ""}); again.DryRun == nil {
		t.Error("an empty token is no token: want a dry run")
	}
	for name, try := range map[string]struct {
		session *mcp.ClientSession
		args    map[string]any
		want    ops.Code
	}{
		"a token of nobody's":        {ann, map[string]any{"kinds": []string{"work"}, "confirm": "x"}, ops.Conflict},
		"a number":                   {ann, map[string]any{"kinds": []string{"work"}, "confirm": 5}, ops.Invalid},
		"another input":              {ann, map[string]any{"confirm": token}, ops.Conflict},
		"another caller":             {bob, map[string]any{"kinds": []string{"work"}, "confirm": token}, ops.Conflict},
		"an argument nobody knows":   {ann, map[string]any{"kinds": []string{"work"}, "confirm": token, "x": 1}, ops.Invalid},
		"another owner's jobs named": {bob, map[string]any{"owner_id": "ann"}, ops.Forbidden},
	} {
		if answered, refused := cancelMany(t, try.session, try.args); refused != try.want {
			t.Errorf("%s: %q %+v, want %q", name, refused, answered, try.want)
		}
	}
	if state() != jobs.Pending {
		t.Fatalf("the job is %s before anyone confirmed", state())
	}
	// The token came over HTTP; it is the caller's, whatever the transport.
	done, refused := cancelMany(t, stdio, map[string]any{"confirm": token, "kinds": []string{"work"}})
	if refused != "" || done.Output == nil || done.DryRun != nil || done.Output.Changed != 1 || state() != jobs.Cancelled {
		t.Errorf("the second call: %+v, %q, the job is %s", done, refused, state())
	}
}
