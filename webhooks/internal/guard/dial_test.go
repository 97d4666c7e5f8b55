package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Promise: a name that leads to an address that is not public is refused when it is dialled.
func TestNamesThatLeadInsideAreRefused(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{
		"127.0.0.1", "0.0.0.0", "10.0.0.5", "172.20.0.1", "192.168.0.1", "100.64.0.1", "169.254.169.254", "192.0.2.1", "198.18.0.1", "224.0.0.1",
		"255.255.255.255", "240.0.0.1", "168.63.129.16", "::", "::1", "fe80::1", "fe80::1%eth0", "fd00::1", "fec0::1", "ff02::1", "::ffff:127.0.0.1",
		"::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001:0:1::1", "2001:db8::1", "100::1", "2606:4700::1%eth0",
	} {
		c := newClient(t, Config{Resolver: zone{"hook.example": {addr, addr}}})
		var dialled dials
		dialled.record(c)
		got := post(t, c, "http://hook.example/")
		if !got.Blocked || !errors.Is(got.Err, ErrBlocked) || len(dialled.all()) > 0 {
			t.Errorf("%s: %+v, dialled %v", addr, got, dialled.all())
		}
	}
}

func TestRefusalSaysWhyAndTheWayOut(t *testing.T) {
	t.Parallel()
	c := newClient(t, Config{Resolver: zone{"hook.example": {"10.0.0.5"}}})
	const want = `blocked: hook.example resolves to 10.0.0.5, a private address; allow it with "10.0.0.5" or "hook.example" in Allow`
	if got := post(t, c, "http://hook.example/"); got.Err == nil || got.Err.Error() != want {
		t.Errorf("error:\n%v\nwant\n%s", got.Err, want)
	}
}

// Promise: of a name with several addresses only those are dialled that may be.
func TestOnlyAllowedAddressesOfANameAreDialled(t *testing.T) {
	t.Parallel()
	c := newClient(t, Config{Resolver: zone{"hook.example": {"10.0.0.1", public, "::1", "::ffff:8.8.8.8", "10.9.0.1"}}, Allow: []string{"10.9.0.0/16"}})
	var dialled dials
	dialled.record(c)
	got := post(t, c, "https://hook.example/")
	if got.Blocked || got.Err == nil {
		t.Errorf("%+v, want the error of the dial", got)
	}
	if diff := cmp.Diff([]string{public + ":443", "8.8.8.8:443", "10.9.0.1:443"}, dialled.all()); diff != "" {
		t.Errorf("dialled (-want +got):\n%s", diff)
	}
}

// turning is a Resolver that changes its mind with every question.
type turning struct{ asked atomic.Int32 }

func (r *turning) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	if r.asked.Add(1)%2 == 1 {
		return []netip.Addr{netip.MustParseAddr(public)}, nil
	}
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// Promise: what was judged is what is dialled, so that a name server that changes its mind gains nothing.
func TestRebindingIsNeverDialled(t *testing.T) {
	t.Parallel()
	resolver := new(turning)
	c := newClient(t, Config{Resolver: resolver})
	var dialled dials
	dialled.record(c)
	refused := 0
	for range 20 {
		if post(t, c, "http://hook.example:8080/").Blocked {
			refused++
		}
	}
	if refused != 10 || resolver.asked.Load() != 20 {
		t.Errorf("%d of 20 refused after %d lookups, want 10 after 20", refused, resolver.asked.Load())
	}
	if slices.ContainsFunc(dialled.all(), func(a string) bool { return a != public+":8080" }) || len(dialled.all()) != 10 {
		t.Errorf("dialled %v", dialled.all())
	}
}

func TestAFloodOfAddressesIsCutShort(t *testing.T) {
	t.Parallel()
	c := newClient(t, Config{Resolver: zone{"hook.example": slices.Repeat([]string{public}, 5000)}})
	var dialled dials
	dialled.record(c)
	if got := post(t, c, "http://hook.example/"); got.Err == nil || len(dialled.all()) != maxDials {
		t.Errorf("%v after %d dials, want %d", got.Err, len(dialled.all()), maxDials)
	}
}

func TestASecondAddressServesWhereTheFirstRefuses(t *testing.T) {
	t.Parallel()
	server := receive(t, answers("HTTP/1.1 204 No Content\r\n\r\n"))
	c := newClient(t, Config{Allow: []string{"127.0.0.0/8"}, Resolver: zone{"hook.example": {"127.0.0.9", "127.0.0.1"}}, Timeout: patient})
	if got := post(t, c, server.url); got.Err != nil || got.Status != 204 {
		t.Errorf("%+v", got)
	}
}

// Promise: the environment decides nothing.
func TestProxyOfTheEnvironmentIsIgnored(t *testing.T) { // Not parallel: it sets the environment.
	proxy := receive(t, answers("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, strings.Replace(proxy.url, "hook.example", "127.0.0.1", 1))
	}
	server := receive(t, answers("HTTP/1.1 204 No Content\r\n\r\n"))
	got := post(t, local(t, patient), server.url)
	if got.Status != 204 || proxy.connections.Load() != 0 {
		t.Errorf("%+v, the proxy saw %d connections", got, proxy.connections.Load())
	}
}

func TestProxyOfTheConfigIsUsed(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.RequestURI
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(proxy.Close)
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, Config{Proxy: address, Timeout: patient})
	if got := post(t, c, "http://hook.example/in"); got.Status != http.StatusAccepted {
		t.Errorf("%+v", got)
	} else if uri := <-seen; uri != "http://hook.example/in" {
		t.Errorf("the proxy was asked for %s", uri)
	}
	if got := post(t, c, "http://127.0.0.1/"); !got.Blocked {
		t.Errorf("a literal address: %+v, want it blocked", got)
	}
}

func TestProxyThatRefuses(t *testing.T) {
	t.Parallel()
	proxy := serve(t, "HTTP/1.1 403 Not for you\r\nContent-Length: 0\r\n\r\n")
	address := &url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", proxy.port), User: url.UserPassword("me", "secret")}
	got := post(t, newClient(t, Config{Proxy: address, Timeout: patient}), "https://hook.example/in")
	if got.Err == nil || got.Err.Error() != "the proxy: Not for you" || got.Status != 0 || got.Blocked {
		t.Errorf("%+v", got)
	}
	if req := proxy.take(t); req.Method != http.MethodConnect || req.RequestURI != "hook.example:443" {
		t.Errorf("the proxy was asked to %s %s", req.Method, req.RequestURI)
	}
}

func TestAllowedHostsMayLeadAnywhere(t *testing.T) {
	t.Parallel()
	c := newClient(t, Config{Allow: []string{"LocalHost", "*.test", "::1"}, Resolver: zone{"localhost": {"127.0.0.1"}, "a.test": {"10.0.0.1"}}})
	var dialled dials
	dialled.record(c)
	for _, raw := range []string{"http://LOCALHOST:8080/", "https://A.Test/", "http://[::1]/"} {
		if got := post(t, c, raw); got.Blocked {
			t.Errorf("%s: %v", raw, got.Err)
		}
	}
	if diff := cmp.Diff([]string{"127.0.0.1:8080", "10.0.0.1:443", "[::1]:80"}, dialled.all()); diff != "" {
		t.Errorf("dialled (-want +got):\n%s", diff)
	}
}

func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	got := post(t, local(t, patient), "http://"+address+"/")
	if got.Err == nil || got.Err.Error() != "connection refused by "+address || got.Blocked {
		t.Errorf("%+v", got)
	}
}
