package guard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patient is for attempts that are not meant to time out, hasty for those that are.
const (
	patient = 20 * time.Second
	hasty   = time.Second
)

// zone is a Resolver: host → addresses. A host that it does not know is public.
type zone map[string][]string

const public = "93.184.216.34"

func (z zone) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	texts, ok := z[host]
	if !ok {
		texts = []string{public}
	}
	addrs := make([]netip.Addr, len(texts))
	for i, text := range texts {
		addrs[i] = netip.MustParseAddr(text)
	}
	return addrs, nil
}

// home is the resolver of a test whose receiver is hook.example.
var home = zone{"hook.example": {"127.0.0.1"}, "other.example": {"127.0.0.1"}, "example.com": {"127.0.0.1"}}

func newClient(t testing.TB, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// local returns a client that may reach the receivers of a test.
func local(t testing.TB, timeout time.Duration) *Client {
	return newClient(t, Config{Allow: []string{"127.0.0.0/8"}, Resolver: home, Timeout: timeout})
}

// dials records what a client dials.
type dials struct {
	mu   sync.Mutex
	seen []string
}

var errNotDialled = errors.New("the test dials nothing")

// record takes the place of the dialer.
func (d *dials) record(c *Client) {
	c.connect = func(_ context.Context, _, address string) (net.Conn, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.seen = append(d.seen, address)
		return nil, errNotDialled
	}
}

func (d *dials) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen
}

// counted counts the bytes that a client reads from its connections.
type counted struct {
	net.Conn
	read *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

func countReads(c *Client) *atomic.Int64 {
	read := new(atomic.Int64)
	dial := c.connect
	c.connect = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return counted{conn, read}, nil
	}
	return read
}

// receiver serves TCP on the loopback interface: fn gets every connection, which is closed after it.
type receiver struct {
	url         string // http://hook.example:port/in
	port        int
	connections atomic.Int32
}

func receive(t testing.TB, fn func(ctx context.Context, conn *net.TCPConn)) *receiver {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	r := &receiver{url: fmt.Sprintf("http://hook.example:%d/in", port), port: port}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			r.connections.Add(1)
			all.Go(func() {
				defer func() { _ = conn.Close() }()
				unblock := context.AfterFunc(ctx, func() { _ = conn.Close() })
				defer unblock()
				fn(ctx, conn.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		all.Wait()
	})
	return r
}

// answers makes a receiver that reads a request, writes the answer as it is and closes.
func answers(answer string) func(context.Context, *net.TCPConn) {
	return func(_ context.Context, conn *net.TCPConn) {
		if readRequest(bufio.NewReader(conn)) == nil {
			_, _ = io.WriteString(conn, answer)
		}
	}
}

// readRequest reads a request with its body.
func readRequest(from *bufio.Reader) error {
	req, err := http.ReadRequest(from)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err
}

func post(t testing.TB, c *Client, url string) Response {
	t.Helper()
	// An attempt that forgets its own timeout fails its test, and not all of them.
	ctx, cancel := context.WithTimeout(t.Context(), 2*patient)
	defer cancel()
	return c.Post(ctx, Request{URL: url, Body: []byte(`{"a":1}`)})
}
