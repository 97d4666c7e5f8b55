package postbus_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/webhooks"
)

// names resolves the hosts of the test below; the last one changes its mind with every question.
type names struct{ asked atomic.Int64 }

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	answers := map[string]string{
		"loop.example": "127.0.0.1", "ten.example": "10.1.2.3", "meta.example": "169.254.169.254", "six.example": "::1",
		"ula.example": "fd00::1", "mapped.example": "::ffff:10.0.0.1", "nat64.example": "64:ff9b::a00:1", "cgnat.example": "100.64.1.1",
		"zero.example": "0.0.0.0", "multicast.example": "224.0.0.1", "doc.example": "192.0.2.1", "bench.example": "198.18.0.1",
	}
	if host == "turning.example" {
		if n.asked.Add(1)%2 == 1 {
			return []netip.Addr{netip.MustParseAddr("192.168.0.1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	if ip, ok := answers[strings.TrimSuffix(host, ".")]; ok {
		return []netip.Addr{netip.MustParseAddr(ip)}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// hostileURLs lead inside, each in its way; PORT is one where somebody listens.
var hostileURLs = []string{
	"http://127.0.0.1:PORT/", "http://127.0.0.2:PORT/", "http://127.1:PORT/", "http://2130706433:PORT/", "http://0x7f000001:PORT/",
	"http://0177.0.0.1:PORT/", "http://0x7f.1:PORT/", "http://127.0.0.1.:PORT/", "http://localhost:PORT/", "http://LOCALHOST.:PORT/",
	"http://[::1]:PORT/", "http://[::ffff:127.0.0.1]:PORT/", "http://[::127.0.0.1]:PORT/", "http://[0:0:0:0:0:0:0:1]:PORT/", "http://[::]:PORT/",
	"http://0.0.0.0:PORT/", "http://0:PORT/", "http://10.0.0.1/", "http://172.16.0.1/", "http://192.168.1.1/", "http://169.254.169.254/latest/meta-data/",
	"http://[fe80::1]/", "http://[fe80::1%25lo]/", "http://[fd00:ec2::254]/", "http://[fc00::1]/", "http://100.64.0.1/", "http://100.100.100.200/",
	"http://224.0.0.1/", "http://[ff02::1]/", "http://255.255.255.255/", "http://192.0.2.1/", "http://198.51.100.1/", "http://203.0.113.1/",
	"http://[2001:db8::1]/", "http://198.18.0.1/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://[2001:0:7f00:1::]/", "http://240.0.0.1/",
	"http://192.0.0.1/", "ftp://hook.example/", "file:///etc/passwd", "gopher://127.0.0.1:PORT/", "http://user:pass@hook.example/",
	"http://loop.example:PORT/", "http://ten.example/", "http://meta.example/", "http://six.example:PORT/", "http://ula.example/", "http://mapped.example/",
	"http://nat64.example/", "http://cgnat.example/", "http://zero.example:PORT/", "http://multicast.example/", "http://doc.example/", "http://bench.example/",
	"http://turning.example:PORT/", "http://loop.example.:PORT/", "http://\uff11\uff12\uff17.0.0.1:PORT/", "http://hook.example:22/",
}

// The promise: whatever an endpoint's URL says, nothing inside is dialled; the delivery is discarded and says why.
func TestHostileURLsAreDiscardedUndialled(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	var touched atomic.Int64
	inside := httptest.NewUnstartedServer(http.NotFoundHandler())
	inside.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			touched.Add(1)
		}
	}
	inside.Start()
	t.Cleanup(inside.Close)
	port := inside.URL[strings.LastIndexByte(inside.URL, ':')+1:]

	cfg := withWebhooks(postbus.Config{Webhooks: &webhooks.Config{Resolver: &names{}}})
	cfg.Webhooks.Allow = nil
	bus := startBus(t, pool, cfg)
	refused := 0
	urls := map[string]string{}
	for _, pattern := range hostileURLs {
		url := strings.ReplaceAll(pattern, "PORT", port)
		spec := webhooks.EndpointSpec{OwnerID: "owner", URL: url, Types: []string{"*"}}
		made, err := bus.Webhooks().Create(t.Context(), spec)
		if err != nil { // refused on entry; an older row could still hold it
			refused++
			spec.URL = "https://hook.example/"
			if made, err = bus.Webhooks().Create(t.Context(), spec); err != nil {
				t.Fatal(err)
			}
			if _, err := pool.Exec(t.Context(), `update postbus.webhook_endpoints set url = $2, version = version + 1 where id = $1`, made.Endpoint.ID, url); err != nil {
				t.Fatal(err)
			}
		}
		urls[made.Endpoint.ID] = url
	}
	change(t, pool, bus, "n1", nil)
	eventually(t, within, pool, len(hostileURLs), `select count(*) from postbus.webhook_deliveries where state <> 'pending'`)
	page, err := bus.Webhooks().Deliveries(t.Context(), webhooks.DeliveryFilter{OwnerID: "owner", Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range page.Deliveries {
		if d.State != webhooks.Discarded || !strings.Contains(d.Reason, "blocked") || d.Attempts != 1 {
			t.Errorf("%s: %s, %q, %d attempts", urls[d.EndpointID], d.State, d.Reason, d.Attempts)
		}
	}
	if n := touched.Load(); n != 0 {
		t.Errorf("somebody inside was dialled %d times", n)
	}
	t.Logf("%d URLs discarded, %d of them refused on entry too", len(page.Deliveries), refused)
}

// Each hostile receiver ends in bounded time as an attempt that is tried again, with an error that can be read.
func TestHostileReceiversCostATryEach(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 64 {
		_, _ = z.Write(make([]byte, 1<<20))
	}
	_ = z.Close()
	drip := func(c net.Conn, head, each string) {
		_, _ = c.Write([]byte(head))
		for {
			if _, err := c.Write([]byte(each)); err != nil {
				return
			}
			_ = loop.Sleep(context.Background(), 20*time.Millisecond) // the receiver is slow
		}
	}
	for name, hostile := range map[string]func(c net.Conn){
		"slow headers": func(c net.Conn) { drip(c, "HTTP/1.1 200 OK\r\n", "X: y\r\n") },
		"slow body":    func(c net.Conn) { drip(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", "x") },
		"endless body": func(c net.Conn) { drip(c, "HTTP/1.1 500 No\r\n\r\n", strings.Repeat("x", 1<<20)) },
		"gzip bomb": func(c net.Conn) {
			_, _ = fmt.Fprintf(c, "HTTP/1.1 500 No\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", bomb.Len(), bomb.Bytes())
		},
		"bad chunks": func(c net.Conn) {
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nboom"))
		},
		"reset":         func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) },
		"no HTTP":       func(c net.Conn) { _, _ = c.Write([]byte("SSH-2.0-OpenSSH_9.2\r\n")) },
		"says nothing":  func(c net.Conn) { _, _ = c.Read(make([]byte, 1<<20)); _, _ = c.Read(make([]byte, 1)) },
		"closes":        func(net.Conn) {},
		"huge headers":  func(c net.Conn) { drip(c, "HTTP/1.1 200 OK\r\n", "X-A: "+strings.Repeat("y", 1<<16)+"\r\n") },
		"interim flood": func(c net.Conn) { drip(c, "", strings.Repeat("HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n", 100)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = ln.Close() })
			go func() {
				for {
					c, err := ln.Accept()
					if err != nil {
						return
					}
					go func() {
						defer c.Close()
						if name != "says nothing" {
							_, _ = c.Read(make([]byte, 1<<16))
						}
						hostile(c)
					}()
				}
			}()
			failsTwice(t, "http://"+ln.Addr().String()+"/", webhooks.Config{Timeout: 300 * time.Millisecond})
		})
	}
	t.Run("TLS for another name", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewTLSServer(http.NotFoundHandler())
		t.Cleanup(server.Close)
		roots := x509.NewCertPool()
		roots.AddCert(server.Certificate())
		port := server.URL[strings.LastIndexByte(server.URL, ':'):]
		a := failsTwice(t, "https://loop.example"+port+"/", webhooks.Config{Timeout: time.Second, RootCAs: roots, Resolver: &names{}})
		if !strings.Contains(a.Error, "TLS: certificate is for") {
			t.Errorf("error %q", a.Error)
		}
	})
}

// failsTwice delivers to the URL and sees two attempts on record, each within the time and a little, and then the end.
func failsTwice(t *testing.T, url string, cfg webhooks.Config) webhooks.Attempt {
	t.Helper()
	pool := testdb.New(t)
	cfg.Schedule = []time.Duration{10 * time.Millisecond}
	bus := startBus(t, pool, withWebhooks(postbus.Config{Webhooks: &cfg}))
	made, err := bus.Webhooks().Create(t.Context(), webhooks.EndpointSpec{OwnerID: "owner", URL: url, Types: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	change(t, pool, bus, "n1", nil)
	d := deliveries(t, bus, made.Endpoint.ID, webhooks.Discarded, 1)[0]
	attempts := attemptsOf(t, bus, d.ID)
	if len(attempts) != 2 {
		t.Fatalf("%d attempts: %+v", len(attempts), attempts)
	}
	for _, a := range attempts {
		if a.Latency > cfg.Timeout+2*time.Second || len(a.Body) > 16<<10 || a.Error == "" && a.Status < 300 {
			t.Errorf("attempt %d: status %d, %s, %d bytes, error %q", a.N, a.Status, a.Latency, len(a.Body), a.Error)
		}
	}
	t.Logf("status %d, %s, %q; %s", attempts[0].Status, attempts[0].Latency.Round(time.Millisecond), attempts[0].Error, d.Reason)
	return attempts[0]
}
