package guard

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/postbus/postbus/internal/loop"
)

// drip writes first, then next again and again, a few milliseconds apart, until the client is gone.
func drip(first, next string) func(context.Context, *net.TCPConn) {
	return func(ctx context.Context, conn *net.TCPConn) {
		if readRequest(bufio.NewReader(conn)) != nil {
			return
		}
		_, err := io.WriteString(conn, first)
		for err == nil && loop.Sleep(ctx, 5*time.Millisecond) == nil {
			_, err = io.WriteString(conn, next)
		}
	}
}

// flood writes first, then next for ever.
func flood(first, next string) func(context.Context, *net.TCPConn) {
	return func(_ context.Context, conn *net.TCPConn) {
		if readRequest(bufio.NewReader(conn)) != nil {
			return
		}
		_, err := io.WriteString(conn, first)
		for again := []byte(next); err == nil; {
			_, err = conn.Write(again)
		}
	}
}

// reset answers with the start of an answer and breaks the connection with a RST.
func reset(start string) func(context.Context, *net.TCPConn) {
	return func(_ context.Context, conn *net.TCPConn) {
		if readRequest(bufio.NewReader(conn)) == nil {
			_, _ = io.WriteString(conn, start)
			_ = conn.SetLinger(0)
		}
	}
}

func silent(ctx context.Context, _ *net.TCPConn) { <-ctx.Done() }

const (
	headers  = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
	chunking = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
)

// Promise: an attempt ends within its timeout and reads a bounded number of bytes, whatever the receiver does.
func TestHostileReceiversAreBounded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		receiver func(context.Context, *net.TCPConn)
		timeout  time.Duration
		status   int
		err      string // "" for none
	}{
		"never answers":        {silent, hasty, 0, "timed out after 1 s while waiting for the answer's headers"},
		"drips headers":        {drip("HTTP/1.1 200 OK\r\n", "X-A: b\r\n"), hasty, 0, "timed out after 1 s while waiting for the answer's headers"},
		"drips a status line":  {drip("", "H"), hasty, 0, "timed out after 1 s while waiting for the answer's headers"},
		"drips a body":         {drip(headers, "x"), hasty, 200, "timed out after 1 s while reading the answer's body"},
		"drips chunks":         {drip(chunking, "1\r\nx\r\n"), hasty, 200, "timed out after 1 s while reading the answer's body"},
		"drips 1xx":            {drip("", "HTTP/1.1 103 Early Hints\r\n\r\n"), hasty, 0, "timed out after 1 s while waiting for the answer's headers"},
		"stops in the body":    {func(ctx context.Context, c *net.TCPConn) { answers(headers)(ctx, c); silent(ctx, c) }, hasty, 200, "timed out after 1 s while reading the answer's body"},
		"endless body":         {flood("HTTP/1.1 200 OK\r\n\r\n", strings.Repeat("x", 8192)), patient, 200, ""},
		"endless chunks":       {flood(chunking, "2000\r\n"+strings.Repeat("x", 8192)+"\r\n"), patient, 200, ""},
		"endless chunk header": {flood(chunking, "1;"+strings.Repeat("x", 8192)), patient, 200, "the answer's body is not valid HTTP"},
		"endless trailer":      {flood(chunking+"0\r\n", "X-A: "+strings.Repeat("x", 1000)+"\r\n"), patient, 200, "the answer's body is not valid HTTP"},
		"huge header":          {flood("HTTP/1.1 200 OK\r\nX-A: ", strings.Repeat("x", 8192)), patient, 0, "the answer's headers are longer than 64 KiB"},
		"many headers":         {flood("HTTP/1.1 200 OK\r\n", "X-A: b\r\n"), patient, 0, "the answer's headers are longer than 64 KiB"},
		"1xx flood":            {flood("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), patient, 0, "the answer's headers are longer than 64 KiB"},
		"invalid chunking":     {answers(chunking + "zz\r\nx\r\n"), patient, 200, "the answer's body is not valid HTTP"},
		"garbage":              {answers("SSH-2.0-hidden\r\n"), patient, 0, "the answer is not valid HTTP"},
		"garbage headers":      {answers("HTTP/1.1 200 OK\r\nhidden\x00: a\r\n\r\n"), patient, 0, "the answer is not valid HTTP"},
		"two lengths":          {answers("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"), patient, 0, "the answer is not valid HTTP"},
		"switches protocols":   {answers("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), patient, 0, "the answer has the status 101, which does not end a request"},
		"status 0":             {answers("HTTP/1.1 000 None\r\n\r\n"), patient, 0, "the answer has the status 0, which does not end a request"},
		"closes at once":       {func(context.Context, *net.TCPConn) {}, patient, 0, "the connection while"},
		"closes unanswered":    {answers(""), patient, 0, "the receiver closed the connection while"},
		"closes in the body":   {answers(headers + "x"), patient, 200, "the receiver closed the connection while reading the answer's body"},
		"resets unanswered":    {reset(""), patient, 0, "the receiver reset the connection while"},
		"resets in the body":   {reset(headers + "x"), patient, 200, "the receiver reset the connection while reading the answer's body"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := local(t, test.timeout)
			read := countReads(c)
			got := post(t, c, receive(t, test.receiver).url)
			if got.Status != test.status || (got.Err == nil) != (test.err == "") || got.Blocked {
				t.Errorf("status %d, error %v, want %d, %q", got.Status, got.Err, test.status, test.err)
			}
			if got.Err != nil && (!strings.Contains(got.Err.Error(), test.err) || strings.Contains(got.Err.Error(), "hidden")) {
				t.Errorf("error %q, want %q and nothing of the answer", got.Err, test.err)
			}
			// The transport reads up to 4 KiB ahead.
			if n := read.Load(); n > maxHeader+maxBody+4096 || len(got.Body) > maxKept || got.Latency > patient/2 {
				t.Errorf("read %d bytes, kept %d, in %v", n, len(got.Body), got.Latency)
			}
			if test.err == "" && (!got.Truncated || len(got.Body) != maxKept) {
				t.Errorf("kept %d bytes, truncated %v", len(got.Body), got.Truncated)
			}
		})
	}
}

// Promise: bytes are kept as they came; what is packed stays packed.
func TestGzipBombStaysPacked(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	if _, err := w.Write(make([]byte, 10<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	server := receive(t, answers(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", bomb.Len(), &bomb)))
	got := post(t, local(t, patient), server.url)
	if got.Err != nil || got.Truncated || !bytes.Equal(got.Body, bomb.Bytes()) {
		t.Errorf("error %v, %d bytes, want the %d as sent", got.Err, len(got.Body), bomb.Len())
	}
}

// Promise: a whole exchange is bounded, also where the body of the request is not taken.
func TestReceiverThatReadsNothing(t *testing.T) {
	t.Parallel()
	server := receive(t, silent)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patient)
	defer cancel()
	got := local(t, hasty).Post(ctx, Request{URL: server.url, Body: make([]byte, 32<<20)})
	if got.Err == nil || got.Err.Error() != "timed out after 1 s while sending the request" || !errors.Is(got.Err, context.DeadlineExceeded) {
		t.Errorf("%v", got.Err)
	}
}

// stuck is a Resolver that never answers, and tells when it was given up.
type stuck chan struct{}

func (s stuck) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	<-ctx.Done()
	close(s)
	return nil, ctx.Err()
}

func TestNameServersThatFail(t *testing.T) {
	t.Parallel()
	givenUp := make(stuck)
	for want, resolver := range map[string]Resolver{
		"timed out after 1 s while looking up hook.example":       givenUp,
		"hook.example has no address: the name was not found":     zone{"hook.example": nil},
		"looking up hook.example failed":                          failing{errors.New("server misbehaving on 10.0.0.2:53")},
		"looking up hook.example: the name server did not answer": failing{&net.DNSError{IsTimeout: true, Server: "10.0.0.2:53"}},
	} {
		got := post(t, newClient(t, Config{Resolver: resolver, Timeout: hasty}), "http://hook.example/")
		if got.Err == nil || !strings.HasPrefix(got.Err.Error(), want) || got.Blocked || strings.Contains(got.Err.Error(), "10.0.0.2") {
			t.Errorf("error %v, want %s", got.Err, want)
		}
	}
	select {
	case <-givenUp:
	case <-time.After(patient):
		t.Error("the lookup outlives its attempt and the timeout")
	}
}

type failing struct{ err error }

func (f failing) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return nil, f.err
}

// Promise: a stop from outside is told apart from a slow receiver.
func TestStopFromOutside(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := receive(t, func(ctx context.Context, conn *net.TCPConn) {
		_ = readRequest(bufio.NewReader(conn))
		cancel()
		silent(ctx, conn)
	})
	got := local(t, patient).Post(ctx, Request{URL: server.url})
	if !errors.Is(got.Err, context.Canceled) || errors.Is(got.Err, context.DeadlineExceeded) || got.Latency > patient/2 {
		t.Errorf("error %v after %v, want the stop", got.Err, got.Latency)
	}
	short, end := context.WithTimeout(t.Context(), time.Millisecond)
	defer end()
	got = local(t, patient).Post(short, Request{URL: receive(t, silent).url})
	if !errors.Is(got.Err, context.DeadlineExceeded) || !strings.HasPrefix(got.Err.Error(), "stopped from outside") {
		t.Errorf("error %v, want the caller's deadline", got.Err)
	}
}

// Promise: the memory that a hostile receiver takes is bounded.
func TestEndlessBodiesTakeLittleMemory(t *testing.T) { // Not parallel: it looks at the memory of the process.
	server := receive(t, flood("HTTP/1.1 200 OK\r\n\r\n", strings.Repeat("x", 8192)))
	c := local(t, patient)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const attempts = 50
	for range attempts {
		if got := post(t, c, server.url); got.Err != nil {
			t.Fatal(got.Err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / attempts; each > 512<<10 {
		t.Errorf("%d bytes an attempt, want at most 512 KiB", each)
	} else {
		t.Logf("%d bytes allocated an attempt, receiver included", each)
	}
}
