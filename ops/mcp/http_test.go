package opsmcp

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/ops"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// Without an identity nothing is answered but how to bring one.
func TestNoIdentity(t *testing.T) {
	t.Parallel()
	url := serveHTTP(t, New(newBus(t).reg, Config{Name: "bus"}))
	for token, challenge := range map[string]string{"": `Bearer realm="bus"`, "wrong": `Bearer realm="bus", error="invalid_token"`} {
		for _, body := range []string{ping, `{`, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`} {
			status, header, answer := post(t, url, token, body)
			if status != http.StatusUnauthorized || header.Get("WWW-Authenticate") != challenge || told(t, answer).Code != ops.Unauthenticated {
				t.Errorf("token %q: %d %q %s", token, status, header.Get("WWW-Authenticate"), answer)
			}
		}
	}
	resp, err := http.Get(url)
	must(t, err)
	must(t, resp.Body.Close())
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("GET: %d", resp.StatusCode)
	}
}

// What keeps auth from knowing who calls is told by its code; what it does not mean for callers stays in the log.
func TestAuthFails(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	s := New(newBus(t).reg, Config{Log: testdb.Logged(slog.NewTextHandler(&log, nil))})
	for _, c := range []struct {
		err    error
		status int
	}{
		{nil, 401}, {&ops.Error{Code: ops.RateLimited, Message: "slow down"}, 429}, {&ops.Error{Code: ops.Unavailable, Message: "later"}, 503},
		{errors.New("the vault is sealed"), 500},
	} {
		url := serveHandler(t, s.Handler(func(*http.Request) (ops.Identity, error) { return ops.Identity{}, c.err }))
		if status, _, answer := post(t, url, "admin", ping); status != c.status || strings.Contains(answer, "vault") {
			t.Errorf("%v: %d %s", c.err, status, answer)
		}
	}
	if !strings.Contains(log.String(), "vault") {
		t.Errorf("the log has %q", log.String())
	}
}

// A proxy on the same machine may hand on the outer name; another site's page may not call.
func TestHostAndOrigin(t *testing.T) {
	t.Parallel()
	url := serveHTTP(t, New(newBus(t).reg, Config{}))
	if status, _, answer := post(t, url, "admin", ping, "Host", "bus.example.com"); status != 200 {
		t.Errorf("behind a proxy: %d %s", status, answer)
	}
	if status, _, answer := post(t, url, "admin", ping, "Origin", "https://evil.example"); status != http.StatusForbidden {
		t.Errorf("another site: %d %s", status, answer)
	}
	if status, header, _ := post(t, url, "admin", ping, "Mcp-Session-Id", "made-up"); status != 200 || header.Get("Mcp-Session-Id") != "" {
		t.Errorf("a session: %d %q", status, header.Get("Mcp-Session-Id"))
	}
}
