package opscli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/postbus/postbus/ops"
)

const (
	// answerWithin bounds a call of a server.
	answerWithin = 2 * time.Minute
	// maxAnswer is how many bytes of an answer are read.
	maxAnswer = 64 << 20
)

// Client calls the HTTP API of a server.
type Client struct {
	base, token string
	http        *http.Client
}

// NewClient calls the server at base, an http or https URL without the API's path.
func NewClient(base, token string) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.RawQuery != "" {
		return nil, usagef("the server's address must look like https://bus.example.com")
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		base: strings.TrimRight(base, "/"), token: token,
		http: &http.Client{Timeout: answerWithin, CheckRedirect: stay},
	}, nil
}

// Call implements Caller.
func (c *Client) Call(ctx context.Context, o *ops.Operation, input json.RawMessage, confirm string) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/api/v1/"+o.Name, bytes.NewReader(input))
	if err != nil {
		return Answer{}, fmt.Errorf("call %s: %w", o.Name, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, application/problem+json")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if confirm != "" {
		req.Header.Set("Confirm", confirm)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return Answer{}, &ops.Error{Code: ops.Unavailable, Message: "the server does not answer: " + reason(err)}
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return Answer{}, &ops.Error{Code: ops.Unavailable, Message: "the server's answer broke off: " + err.Error()}
	case len(body) > maxAnswer:
		return Answer{}, fmt.Errorf("the server's answer has more than %d bytes: ask for less with --limit", maxAnswer)
	}
	return c.read(o, res, body, confirm)
}

// read makes an answer of a response.
func (c *Client) read(o *ops.Operation, res *http.Response, body []byte, confirm string) (Answer, error) {
	switch {
	case res.StatusCode >= 400:
		return Answer{}, problem(res, body)
	case res.StatusCode >= 300 || !json.Valid(body):
		return Answer{}, fmt.Errorf("%s answered %s with something that is not the API's: is it the address of a postbus server?", c.base, res.Status)
	case o.Destructive && confirm == "":
		var told struct {
			DryRun *ops.DryRun `json:"dry_run"`
		}
		if err := json.Unmarshal(body, &told); err != nil || told.DryRun == nil {
			return Answer{}, fmt.Errorf("%s answered no dry run of %s; are server and command line of one version?", c.base, o.Name)
		}
		return Answer{DryRun: told.DryRun}, nil
	}
	return Answer{Output: body}, nil
}

// reason is a failure without the address, which the caller knows and which may hold what is not to be shown.
func reason(err error) string {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return err.Error()
}
