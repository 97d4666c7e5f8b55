package search

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// callTimeout bounds one call; the caller's context may be shorter.
const callTimeout = 10 * time.Second

// Client calls a search service. It never retries: that is the job layer's to do. (net/http sends a call again by itself
// where a kept-alive connection turns out to have died before it carried an answer, and only then.)
type Client struct {
	base string
	http *http.Client
}

// NewClient checks the address of a service, such as http://127.0.0.1:8081. It does not call it.
func NewClient(base string) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("search address %q: use the form http://host:port", base)
	}
	return &Client{base: strings.TrimRight(base, "/"), http: &http.Client{Timeout: callTimeout}}, nil
}

// URL is the service's address.
func (c *Client) URL() string { return c.base }

// Put writes a document, unless the service has this version or a later one.
func (c *Client) Put(ctx context.Context, doc Doc) error {
	return c.call(ctx, http.MethodPut, "/docs/"+url.PathEscape(doc.ID), doc, nil)
}

// Delete removes a document, unless the service has a later version.
func (c *Client) Delete(ctx context.Context, id string, version int64) error {
	return c.call(ctx, http.MethodDelete, "/docs/"+url.PathEscape(id)+"?version="+strconv.FormatInt(version, 10), nil, nil)
}

// Get answers which version the service has; none, or a deleted one, is ErrNotFound.
func (c *Client) Get(ctx context.Context, id string) (v Version, err error) {
	err = c.call(ctx, http.MethodGet, "/docs/"+url.PathEscape(id), nil, &v)
	return v, err
}

// Lacking answers those ids whose version, or a later one, the service does not have. At most 1,000 at a time.
func (c *Client) Lacking(ctx context.Context, want []Version) (ids []string, err error) {
	err = c.call(ctx, http.MethodPost, "/lacking", want, &ids)
	return ids, err
}

// Search answers the documents that hold every word of the text.
func (c *Client) Search(ctx context.Context, q Query) (r Result, err error) {
	v := url.Values{"q": {q.Text}, "limit": {strconv.Itoa(q.Limit)}}
	if q.ID != "" {
		v.Set("id", q.ID)
	}
	err = c.call(ctx, http.MethodGet, "/search?"+v.Encode(), nil, &r)
	return r, err
}

func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%w at %s: %w", ErrUnavailable, c.base, err)
	}
	defer resp.Body.Close()
	return decodeAnswer(resp, out)
}

func decodeAnswer(resp *http.Response, out any) error {
	if resp.StatusCode >= 300 {
		var said struct{ Error string }
		_ = json.NewDecoder(io.LimitReader(resp.Body, 4096)).Decode(&said)
		sentinel := ErrUnavailable
		switch {
		case resp.StatusCode == http.StatusNotFound:
			sentinel = ErrNotFound
		case resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests:
			sentinel = ErrRefused
		}
		return fmt.Errorf("%w: %s %s", sentinel, resp.Status, said.Error)
	}
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("%w: read its answer: %w", ErrUnavailable, err)
	}
	return nil
}
