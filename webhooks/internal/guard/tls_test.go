package guard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// secure starts a TLS server for example.com and returns its port and the pool that knows its certificate.
func secure(t *testing.T, cfg *tls.Config) (port int, known *x509.CertPool) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Proto", r.Proto)
	}))
	server.EnableHTTP2 = true
	server.TLS = cfg
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	known = x509.NewCertPool()
	known.AddCert(server.Certificate())
	return server.Listener.Addr().(*net.TCPAddr).Port, known
}

// Promise: a certificate is checked against the host of the URL; TLS is 1.2 at least.
func TestTLS(t *testing.T) {
	t.Parallel()
	port, known := secure(t, nil)
	old, knownOld := secure(t, &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10})
	plain := receive(t, func(_ context.Context, conn *net.TCPConn) {
		_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn)
	}).port
	quiet := receive(t, silent).port
	closing := receive(t, func(context.Context, *net.TCPConn) {}).port
	for _, test := range []struct {
		host  string
		port  int
		roots *x509.CertPool
		err   string
	}{
		{"example.com", port, known, ""},
		{"hook.example", port, known, "TLS: certificate is for example.com, *.example.com, 127.0.0.1, ::1, not hook.example"},
		{"example.com", port, nil, "TLS: certificate is not signed by a known authority"},
		{"example.com", old, knownOld, "TLS: 127.0.0.1"},
		{"example.com", plain, known, "does not speak TLS"},
		{"example.com", closing, known, "the connection while agreeing on TLS with 127.0.0.1"},
		{"example.com", quiet, known, "timed out after 1 s while agreeing on TLS with 127.0.0.1"},
	} {
		cfg := Config{Allow: []string{"127.0.0.1"}, Resolver: home, RootCAs: test.roots, Timeout: patient}
		if test.port == quiet {
			cfg.Timeout = hasty
		}
		got := post(t, newClient(t, cfg), fmt.Sprintf("https://%s:%d/", test.host, test.port))
		switch {
		case test.err == "" && (got.Err != nil || got.Header.Get("X-Proto") != "HTTP/1.1"):
			t.Errorf("%s: %v, over %q", test.host, got.Err, got.Header.Get("X-Proto"))
		case test.err != "" && (got.Err == nil || !strings.Contains(got.Err.Error(), test.err) || strings.Contains(got.Err.Error(), "\n")):
			t.Errorf("%s:%d: error %v, want %s", test.host, test.port, got.Err, test.err)
		}
	}
}
