package opsmcp

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/postbus/postbus/ops"
)

// post sends a body as it is and answers status, header and body.
func post(t testing.TB, url, token, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	must(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		if req.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, resp.Header, string(raw)
}

// reply is a JSON-RPC answer.
type reply struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func rpc(t testing.TB, url, body string) reply {
	t.Helper()
	status, header, text := post(t, url, "admin", body)
	if status != 200 || header.Get("Content-Type") != "application/json" {
		t.Fatalf("%.200s: status %d, %s: %s", body, status, header.Get("Content-Type"), text)
	}
	var r reply
	must(t, json.Unmarshal([]byte(text), &r))
	if r.JSONRPC != "2.0" {
		t.Errorf("%.200s: answer %s", body, text)
	}
	return r
}

// The messages of the protocol by hand: no session is needed between them.
func TestRawMessages(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	url := serveHTTP(t, New(b.reg, Config{}))
	hello := rpc(t, url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},`+
		`"clientInfo":{"name":"hand","version":"0"}}}`)
	var told struct {
		ProtocolVersion string         `json:"protocolVersion"`
		Capabilities    map[string]any `json:"capabilities"`
		ServerInfo      struct{ Name, Version string }
	}
	must(t, json.Unmarshal(hello.Result, &told))
	if told.ProtocolVersion != "2025-06-18" || told.Capabilities["tools"] == nil || told.ServerInfo.Name != "postbus" || string(hello.ID) != "1" {
		t.Errorf("initialize: %s", hello.Result)
	}
	if status, _, body := post(t, url, "admin", `{"jsonrpc":"2.0","method":"notifications/initialized"}`); status != http.StatusAccepted {
		t.Errorf("initialized: %d %s", status, body)
	}
	var list struct{ Tools []struct{ Name string } }
	must(t, json.Unmarshal(rpc(t, url, `{"jsonrpc":"2.0","id":"b","method":"tools/list"}`).Result, &list))
	if len(list.Tools) != len(b.reg.All()) {
		t.Errorf("%d tools", len(list.Tools))
	}
	id := b.enqueue(t, "ann")
	got := rpc(t, url, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"tasks_get","arguments":{"id":"`+id+`"}}}`)
	if !strings.Contains(string(got.Result), `"structuredContent":{"id":"`+id+`"`) {
		t.Errorf("tools/call: %s", got.Result)
	}
}

// Only an unknown tool and a message that is not MCP are errors of the protocol; bad arguments are answers marked as errors.
func TestBadMessages(t *testing.T) {
	t.Parallel()
	url := serveHTTP(t, New(newBus(t).reg, Config{}))
	for params, code := range map[string]int{
		`{"name":"no_such_tool"}`: -32602, `{"name":"tasks.get"}`: -32602, `{}`: -32602, `{"name":5}`: -32602, `null`: -32600, `"x"`: -32602,
	} {
		r := rpc(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`)
		if r.Error == nil || r.Error.Code != code {
			t.Errorf("%s: error %+v, result %s", params, r.Error, r.Result)
		}
	}
	for arguments, code := range map[string]ops.Code{
		``: ops.Invalid, `{}`: ops.Invalid, `null`: ops.Invalid, `[]`: ops.Invalid, `"x"`: ops.Invalid, `5`: ops.Invalid, `{"id":5}`: ops.Invalid,
		`{"id":null}`: ops.Invalid, `{"id":"1","confirm":"x"}`: ops.Invalid, `{"id":"a\u0000"}`: ops.Invalid, "{\"id\":\"\xff\"}": ops.Invalid,
		`{"id":"'; drop table postbus.events; --"}`: ops.NotFound, `{"id":"99999999999999999999999"}`: ops.NotFound,
		`{"id":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`: ops.Invalid,
		`{"id":"` + strings.Repeat("x", ops.MaxInput) + `"}`:                 ops.TooLarge,
	} {
		if arguments != "" {
			arguments = `,"arguments":` + arguments
		}
		r := rpc(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tasks_get"`+arguments+`}}`)
		var result struct {
			IsError bool
			Content []struct{ Text string }
		}
		if r.Error != nil {
			t.Errorf("%.100s: a protocol error %+v", arguments, r.Error)
			continue
		}
		must(t, json.Unmarshal(r.Result, &result))
		if e := told(t, result.Content[0].Text); !result.IsError || e.Code != code || e.Message == "" {
			t.Errorf("%.100s: %s, want %s", arguments, r.Result, code)
		}
	}
}

// What is no message at all is refused with a status below 500, and the server goes on.
func TestHostileBodies(t *testing.T) {
	t.Parallel()
	url := serveHTTP(t, New(newBus(t).reg, Config{}))
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tasks_get"}}`
	for _, body := range []string{
		``, `{`, `null`, `5`, `"x"`, `[]`, `[5]`, `[null]`, `{}`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1}`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"method":"tools/list"}`, `{"jsonrpc":"2.0","method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":1,"method":5}`, `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":1e400,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":null}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"%"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{}}`, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"x"}}`, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}`,
		`[` + call + `,` + call + `]`, `[` + call + `,5]`, "\xff\xfe", strings.Repeat("[", 100_000), strings.Repeat(`{"a":`, 100_000),
	} {
		if status, _, answer := post(t, url, "admin", body); status >= 500 {
			t.Errorf("%.80q: %d %s", body, status, answer)
		}
	}
	if status, _, _ := post(t, url, "admin", strings.Repeat(" ", 10<<20)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("10 MiB: status %d", status)
	}
	if r := rpc(t, url, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); r.Error != nil {
		t.Errorf("afterwards: %+v", r.Error)
	}
}
