package paneltest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postbus/postbus/internal/browser"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/ops"
)

// prefix is where the proxies have the panel.
const prefix = "/ops/bus/"

// nginxConfig is a proxy as it is written by hand: nothing in it is about streams but what the panel's own headers say.
const nginxConfig = `
daemon off;
master_process off;
pid %[1]s/pid;
error_log stderr warn;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	server {
		listen %[2]s;
		location ` + prefix + ` {
			proxy_pass %[3]s;
			%[4]s
		}
	}
}
`

// nginx is the program. Where it cannot be installed the test is skipped; where it can, make test does so.
func nginx(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if _, err := exec.LookPath("apt-get"); err == nil && os.Geteuid() == 0 {
		t.Fatal("there is no nginx: scripts/install.sh drivers installs it")
	}
	t.Skip("there is no nginx here, and without root and apt-get it cannot be installed: the panel was not tested behind a proxy")
	return ""
}

// proxied starts nginx before an address and answers the panel's behind it.
func proxied(t *testing.T, upstream, more string) string {
	t.Helper()
	program, dir := nginx(t), t.TempDir()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	config := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, nginxConfig, dir, address, upstream, more), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var said strings.Builder
	cmd := exec.CommandContext(ctx, program, "-p", dir, "-c", config)
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("nginx says:\n%s", said.String())
		}
	})
	at := "http://" + address + prefix
	wait.Eventually(t, within, func() (bool, string) {
		answer, err := http.Get(at + "login")
		if err != nil {
			return false, err.Error()
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK, answer.Status
	})
	return at
}

// P10: mounted under a prefix behind a proxy that strips it, and behind one that does not, everything works: login, views, filters,
// acts, going back, what is live, the files, the redirects.
func TestBehindProxies(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	kept := http.NewServeMux()
	kept.Handle(prefix, h.panel)
	keeping := httptest.NewServer(kept)
	t.Cleanup(keeping.Close)
	job := h.failed("work", 2, jobs.Retryable)
	for i, c := range []struct{ name, upstream, more string }{
		{"strips", h.url, ""},
		{"keeps", keeping.URL, "proxy_set_header Host $http_host;"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			behind := *h
			behind.t, behind.url = t, proxied(t, c.upstream, c.more)
			behind.redirects()
			behind.walk(job[i])
		})
	}
}

// redirects looks at what a browser hides: where the answers lead, and whom the cookie goes to.
func (h *house) redirects() {
	h.t.Helper()
	jar, _ := cookiejar.New(nil)
	var paths []string
	client := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		paths = append(paths, r.URL.RequestURI())
		return nil
	}}
	read := func(answer *http.Response, err error) string {
		h.t.Helper()
		h.must(err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		h.must(err)
		return string(text)
	}
	if page := read(client.Get(h.url + "jobs?states=retryable")); !strings.Contains(page, `action="login"`) {
		h.t.Errorf("without a login it shows %.300s", page)
	}
	do[ops.Account](h, "accounts.create", object{"name": "jar" + filepath.Base(strings.ToLower(h.t.Name())), "password": "correct horse battery", "scopes": []string{"read"}})
	form := url.Values{"name": {"jar" + filepath.Base(strings.ToLower(h.t.Name()))}, "password": {"correct horse battery"}, "to": {"jobs?states=retryable"}}
	if page := read(client.PostForm(h.url+"login", form)); !strings.Contains(page, `id="nav"`) {
		h.t.Errorf("after the login it shows %.300s", page)
	}
	want := []string{prefix + "login?to=jobs%3Fstates%3Dretryable", prefix + "jobs?states=retryable"}
	if strings.Join(paths, " ") != strings.Join(want, " ") {
		h.t.Errorf("redirects lead to %q, want %q", paths, want)
	}
	for path, want := range map[string]int{prefix: 1, prefix + "jobs": 1, "/": 0, "/ops/": 0, "/panel/": 0} {
		at, err := url.Parse(h.url)
		h.must(err)
		at.Path = path
		if got := len(jar.Cookies(at)); got != want {
			h.t.Errorf("%d cookies go to %s, want %d", got, path, want)
		}
	}
}

// walk uses the panel as a person does.
func (h *house) walk(job string) {
	h.t.Helper()
	s := h.open("jobs")
	h.must(s.Set(browser.Look{Width: 1280, Height: 900}))
	script[any](s, `window.stayed = true`)
	under := func(view string) { h.t.Helper(); s.wait(`location.pathname === ` + quote(prefix+view)) }
	under("jobs")
	if styled := script[bool](s, `[...document.styleSheets].every((s) => s.cssRules.length > 0) && document.styleSheets.length > 0`); !styled {
		h.t.Error("the style was not loaded")
	}
	s.click(`.tabs a.s-retryable`)
	s.wait(`location.search === "?states=retryable" && document.querySelector('[data-row="` + job + `"]')`)
	s.click(`#nav a[href="events"]`)
	under("events")
	s.wait(`document.querySelector("#events-list, main .empty, main table.rows")`)
	s.h.must(s.Back())
	s.wait(`location.search === "?states=retryable" && document.querySelector('[data-row="` + job + `"]')`)
	s.h.must(s.Forward())
	under("events")

	subject := "live-" + job // what is recorded shows without a reload
	h.record("note.changed", subject, object{"n": 1})
	s.has("table.rows", subject)
	if !script[bool](s, `window.stayed === true`) {
		h.t.Error("the page was loaded anew")
	}
	s.goTo(h.url + "jobs?job=" + job)
	s.click(`[data-op="tasks.cancel"]`)
	s.has("dialog", "cancel job "+job)
	s.confirm()
	s.has(".head .state", "cancelled")
	h.stands(job, jobs.Cancelled)
	if astray := script[string](s, `performance.getEntriesByType("resource").map((r) => new URL(r.name).pathname)
		.filter((path) => !path.startsWith("`+prefix+`")).join(" ")`); astray != "" {
		h.t.Errorf("it asks for %s, which is not under %s", astray, prefix)
	}
	s.click(`form[action="logout"] button`)
	under("login")
}

// The cookie is for HTTPS only, but for plain HTTP on this very machine. A proxy that ends TLS says that it did.
func TestCookieIsSecure(t *testing.T) {
	t.Parallel()
	h := setUp(t)
	do[ops.Account](h, "accounts.create", object{"name": "ann", "password": "correct horse battery", "scopes": []string{"read"}})
	for _, c := range []struct {
		url, proto string
		want       bool
	}{
		{"http://127.0.0.1:8899/panel/login", "", false},
		{"http://localhost:8899/panel/login", "", false},
		{"http://[::1]:8899/panel/login", "", false},
		{"http://127.0.0.1:8899/panel/login", "https", true},
		{"http://bus.example.com/panel/login", "https", true},
		{"https://bus.example.com/panel/login", "", true},
		{"http://bus.example.com/panel/login", "", true},
	} {
		form := url.Values{"name": {"ann"}, "password": {"correct horse battery"}}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, c.url, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if c.proto != "" {
			r.Header.Set("X-Forwarded-Proto", c.proto)
		}
		w := httptest.NewRecorder()
		h.panel.ServeHTTP(w, r)
		cookies := w.Result().Cookies()
		if w.Code != http.StatusSeeOther || len(cookies) != 1 {
			t.Fatalf("%s: status %d, %d cookies: %s", c.url, w.Code, len(cookies), w.Body)
		}
		if cookie := cookies[0]; cookie.Secure != c.want || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "" {
			t.Errorf("%s, X-Forwarded-Proto %q: the cookie is %s, want Secure %v", c.url, c.proto, cookie.Raw, c.want)
		}
	}
}
