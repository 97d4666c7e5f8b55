package main

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/postbus/postbus/internal/testdb"
)

// mostIdle is the memory that serve may hold when it has nothing to do.
const mostIdle = 64 << 10 // KiB

// resident answers how much memory of a process is in RAM, in KiB.
func resident(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip("no /proc here: ", err)
	}
	found := regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`).FindSubmatch(status)
	if found == nil {
		t.Fatalf("no VmRSS in %s", status)
	}
	kib, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kib
}

// Idle, after it has answered calls on every face, serve holds at most 64 MiB.
func TestServeIsSmall(t *testing.T) {
	t.Parallel()
	s := serving{database: testdb.EmptyURL(t), program: released.program(t), env: hookSettings()}.start(t)
	s.eventually(t, "/readyz", http.StatusOK, "ready")
	token := regexp.MustCompile(`pb_\S+`).FindString(s.text())
	for range 20 {
		for path, body := range map[string]string{
			"/api/v1/tasks.overview": "{}", "/api/v1/events.list": "{}", "/api/v1/webhooks.list": "{}", "/api/v1/system.status": "{}",
			"/mcp": `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"},
				"Accept": {"application/json, text/event-stream"}}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != http.StatusOK {
				t.Fatalf("%s answers %d", path, res.StatusCode)
			}
		}
		s.eventually(t, "/api/openapi.json", http.StatusOK, "openapi")
	}
	has := resident(t, s.cmd.Process.Pid)
	t.Logf("%d KiB are resident", has)
	if has > mostIdle {
		t.Errorf("%d KiB are resident; the limit is %d", has, mostIdle)
	}
	s.end(t)
}
