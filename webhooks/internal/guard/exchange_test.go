package guard

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// served is a receiver that keeps its connections, answers every request alike and remembers them.
type served struct {
	*receiver
	requests chan *http.Request // with their bodies read, which are in X-Body
}

func serve(t *testing.T, answer string) *served {
	s := &served{requests: make(chan *http.Request, 100)}
	s.receiver = receive(t, func(_ context.Context, conn *net.TCPConn) {
		from := bufio.NewReader(conn)
		for s.next(from) && answer != "" {
			if _, err := io.WriteString(conn, answer); err != nil {
				return
			}
		}
	})
	return s
}

func (s *served) next(from *bufio.Reader) bool {
	req, err := http.ReadRequest(from)
	if err != nil {
		return false
	}
	body, err := io.ReadAll(req.Body)
	req.Header.Set("X-Body", string(body))
	s.requests <- req
	return err == nil
}

// take returns the request that came next.
func (s *served) take(t *testing.T) *http.Request {
	t.Helper()
	select {
	case req := <-s.requests:
		return req
	case <-time.After(patient):
		t.Fatal("no request came")
		return nil
	}
}

const noContent = "HTTP/1.1 204 No Content\r\n\r\n"

func TestRequestIsSentAsGiven(t *testing.T) {
	t.Parallel()
	server := serve(t, "HTTP/1.1 410 Gone\r\nX-A: b\r\nContent-Length: 2\r\n\r\n\x1f\x8b")
	header := http.Header{"webhook-id": {"1"}, "Content-Type": {"application/json"}, "host": {"10.0.0.1"}, "Host": {"10.0.0.1"},
		"content-length": {"3"}, "Transfer-Encoding": {"chunked"}, "Connection": {"close"}, "Idempotency-Key": {"k"}}
	got := local(t, patient).Post(t.Context(), Request{URL: server.url + "?a=b", Header: header, Body: []byte("\x00\xff{}")})
	if got.Err != nil || got.Status != http.StatusGone || string(got.Body) != "\x1f\x8b" || got.Header.Get("X-A") != "b" || got.Truncated || got.Latency <= 0 {
		t.Errorf("%+v", got)
	}
	req := server.take(t)
	want := http.Header{"Webhook-Id": {"1"}, "Content-Type": {"application/json"}, "User-Agent": {"postbus"}, "Content-Length": {"4"},
		"Idempotency-Key": {"k"}, "X-Body": {"\x00\xff{}"}}
	if diff := cmp.Diff(want, req.Header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if req.Method != http.MethodPost || req.RequestURI != "/in?a=b" || req.Host != fmt.Sprintf("hook.example:%d", server.port) || req.Proto != "HTTP/1.1" {
		t.Errorf("%s %s %s %s", req.Method, req.Host, req.RequestURI, req.Proto)
	}
}

func TestHeadersThatCannotBeSent(t *testing.T) {
	t.Parallel()
	got := local(t, patient).Post(t.Context(), Request{URL: "http://hook.example/", Header: http.Header{"X-A": {"secret\r\nHost: x"}}})
	if got.Err == nil || strings.Contains(got.Err.Error(), "secret") || !strings.Contains(got.Err.Error(), "X-A") {
		t.Errorf("error %v, want one that names the header and not its value", got.Err)
	}
}

// Promise: a redirect is an answer; nobody goes where it leads.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	inside := serve(t, noContent)
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := serve(t, fmt.Sprintf("HTTP/1.1 %d Over there\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n", status, inside.port))
		got := post(t, local(t, patient), server.url)
		if got.Status != status || got.Err != nil || got.Header.Get("Location") == "" {
			t.Errorf("%+v", got)
		}
	}
	if n := inside.connections.Load(); n != 0 {
		t.Errorf("%d connections to where the redirects lead, want none", n)
	}
}

func TestCookiesAreNotKept(t *testing.T) {
	t.Parallel()
	server := serve(t, "HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n")
	c := local(t, patient)
	for range 2 {
		if got := post(t, c, server.url); got.Err != nil {
			t.Fatal(got.Err)
		}
		if cookies := server.take(t).Header["Cookie"]; cookies != nil {
			t.Errorf("sent %v", cookies)
		}
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	// 64 KiB of body are read, so that they do not cost the connection.
	server := serve(t, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", maxBody-1, strings.Repeat("x", maxBody-1)))
	c := local(t, patient)
	for range 5 {
		if got := post(t, c, server.url); got.Err != nil || len(got.Body) != maxKept || !got.Truncated {
			t.Fatalf("error %v, %d bytes, truncated %v", got.Err, len(got.Body), got.Truncated)
		}
	}
	if n := server.connections.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestBodyOfExactlyTheLimitIsWhole(t *testing.T) {
	t.Parallel()
	body := bytes.Repeat([]byte("x"), maxKept)
	got := post(t, local(t, patient), serve(t, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)).url)
	if got.Err != nil || got.Truncated || !bytes.Equal(got.Body, body) {
		t.Errorf("error %v, %d bytes, truncated %v", got.Err, len(got.Body), got.Truncated)
	}
}

// Promise: a connection that the receiver closed between two attempts does not fail the second.
func TestClosedIdleConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 2)
	server := receive(t, func(_ context.Context, conn *net.TCPConn) {
		answers(noContent)(t.Context(), conn)
		_ = conn.CloseWrite()
		_, _ = io.Copy(io.Discard, conn) // Ends when the client has seen the end.
		gone <- struct{}{}
	})
	c := local(t, patient)
	for range 2 {
		if got := post(t, c, server.url); got.Err != nil || got.Status != 204 {
			t.Fatalf("%+v", got)
		}
		<-gone
	}
}

// brittle is a connection that dies, unnoticed so far, before its second request is written.
type brittle struct {
	net.Conn
	writes *atomic.Int32
}

func (b brittle) Write(p []byte) (int, error) {
	if b.writes.Add(1) == 2 {
		return 0, syscall.EPIPE
	}
	return b.Conn.Write(p)
}

// Promise: where nothing was written, the request goes over another connection, whole and once.
func TestDeadConnectionIsReplacedBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	server := serve(t, noContent)
	c := local(t, patient)
	dial, writes := c.connect, new(atomic.Int32)
	c.connect = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return brittle{conn, writes}, err
	}
	for range 2 {
		if got := post(t, c, server.url); got.Err != nil {
			t.Fatal(got.Err)
		}
		if body := server.take(t).Header.Get("X-Body"); body != `{"a":1}` {
			t.Errorf("received %q", body)
		}
	}
	if len(server.requests) != 0 || server.connections.Load() != 2 {
		t.Errorf("%d requests too many over %d connections, want 0 over 2", len(server.requests), server.connections.Load())
	}
}

// Promise: what was written once is not sent again, whatever the request's headers say.
func TestNothingIsSentTwice(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	server := receive(t, func(_ context.Context, conn *net.TCPConn) {
		from := bufio.NewReader(conn)
		for readRequest(from) == nil && requests.Add(1)%2 == 1 { // Answers the first of a connection, closes on the second.
			_, _ = io.WriteString(conn, noContent)
		}
	})
	c := local(t, patient)
	for i := range 2 {
		got := c.Post(t.Context(), Request{URL: server.url, Body: []byte("x"),
			Header: http.Header{"Idempotency-Key": {"k"}, "X-Idempotency-Key": {"k"}}})
		if (got.Err != nil) != (i == 1) {
			t.Errorf("attempt %d: %v", i+1, got.Err)
		}
	}
	if n := requests.Load(); n != 2 {
		t.Errorf("%d requests for 2 attempts", n)
	}
}

// Promise: Close leaves nothing behind: no connection that waits for a next request, and none that is being opened for an
// attempt that is over.
func TestCloseLeavesNothingBehind(t *testing.T) { // Not parallel: it looks at all goroutines of the process.
	ended := make(chan struct{}, 1)
	server := receive(t, func(_ context.Context, conn *net.TCPConn) {
		from := bufio.NewReader(conn)
		for readRequest(from) == nil {
			_, _ = io.WriteString(conn, noContent)
		}
		ended <- struct{}{}
	})
	before := goleak.IgnoreCurrent()
	c := local(t, time.Hour)
	if got := post(t, c, server.url); got.Err != nil {
		t.Fatal(got.Err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c.connect = func(ctx context.Context, _, _ string) (net.Conn, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if got := c.Post(ctx, Request{URL: strings.Replace(server.url, "hook", "other", 1)}); !errors.Is(got.Err, context.Canceled) {
		t.Errorf("error %v, want the stop", got.Err)
	}
	c.Close()
	<-ended
	goleak.VerifyNone(t, before)
}
