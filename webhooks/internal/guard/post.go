package guard

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"time"
)

// Request is one attempt: a POST. Body must not change until Post has returned.
type Request struct {
	// URL is where to send; it is judged as by CheckURL.
	URL string
	// Header is sent but for what belongs to the connection (Host, Connection, Content-Length, Expect and the like), which
	// the client decides itself.
	Header http.Header
	// Body is sent as it is.
	Body []byte
}

// Response is what came of an attempt.
type Response struct {
	// Status is the answer's, 200 to 999; 0 where no answer came.
	Status int
	// Header is the answer's, at most 64 KiB.
	Header http.Header
	// Body is the first 16 KiB of the answer's, as it came.
	Body []byte
	// Truncated says that the answer's body is longer than Body.
	Truncated bool
	// Latency is the time that the attempt took.
	Latency time.Duration
	// Err is nil when a whole answer came, with any status; an answer with more than 64 KiB of body counts as whole. Its
	// text is one line for an operator. It wraps ErrBlocked, context.Canceled where the caller's ctx was cancelled, or
	// context.DeadlineExceeded where the time ran out; Status and Header may have come before it.
	Err error
	// Blocked says that the guard refused: nothing was dialled.
	Blocked bool
}

// Post sends one attempt and waits for its end, Config.Timeout at most.
func (c *Client) Post(ctx context.Context, req Request) Response {
	start := time.Now()
	resp := c.post(ctx, req)
	resp.Latency = time.Since(start)
	return resp
}

func (c *Client) post(ctx context.Context, req Request) Response {
	to, err := c.check(req.URL)
	if err != nil {
		return Response{Err: err, Blocked: true}
	}
	a := &attempt{client: c, outer: ctx, host: to.host}
	bounded, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(httptrace.WithClientTrace(bounded, a.trace()), http.MethodPost, to.url.String(),
		bytes.NewReader(req.Body))
	if err != nil {
		return a.failed(Response{}, err)
	}
	r.Header = c.header(req.Header)
	// RoundTrip sends one request: redirects and cookies are http.Client's.
	answer, err := c.transport.RoundTrip(r)
	if err != nil {
		return a.failed(Response{}, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode < 200 {
		return a.failed(Response{}, &oddStatusError{answer.StatusCode})
	}
	a.reach(readingBody)
	return a.read(answer)
}

// read takes the body up to the limit. Closing a body that has more closes its connection.
func (a *attempt) read(answer *http.Response) Response {
	resp := Response{Status: answer.StatusCode, Header: answer.Header}
	kept, err := io.ReadAll(io.LimitReader(answer.Body, maxKept))
	resp.Body = kept
	if err == nil {
		var more int64
		more, err = io.Copy(io.Discard, io.LimitReader(answer.Body, maxBody-maxKept))
		resp.Truncated = more > 0
	}
	if err != nil {
		return a.failed(resp, err)
	}
	return resp
}

// ofConnection are the headers that are the client's own to decide: another Host, or another length of the body, would
// let one request look like two.
var ofConnection = []string{"Host", "Connection", "Content-Length", "Expect", "Keep-Alive", "Proxy-Authorization",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

func (c *Client) header(given http.Header) http.Header {
	header := http.Header{"User-Agent": {c.cfg.UserAgent}}
	for name, values := range given {
		name = http.CanonicalHeaderKey(name)
		if !slices.Contains(ofConnection, name) {
			header[name] = slices.Clone(values)
		}
	}
	// In this spelling the transport takes them for a leave to send the request again on another connection.
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := header[name]; ok {
			delete(header, name)
			header[strings.ToLower(name)] = values
		}
	}
	return header
}

// oddStatusError is an answer that is none.
type oddStatusError struct{ status int }

func (e *oddStatusError) Error() string { return fmt.Sprintf("status %d", e.status) }
