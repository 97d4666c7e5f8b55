package guard

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	maxHeader   = 64 << 10 // bytes of an answer's headers, informational answers before it included
	maxBody     = 64 << 10 // bytes of an answer's body that are read
	maxKept     = 16 << 10 // bytes of an answer's body that are returned
	idlePerHost = 32
	idleAtAll   = 512
	idleFor     = 30 * time.Second
)

// Client sends webhooks. Its methods may be called from several goroutines.
type Client struct {
	cfg       Config
	allow     allowed
	transport *http.Transport
	connect   func(ctx context.Context, network, address string) (net.Conn, error) // address is ip:port
}

// New makes a client. The error says what in cfg cannot be meant.
func New(cfg Config) (*Client, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	allow, err := parseAllow(cfg.Allow)
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg.withDefaults(), allow: allow, connect: new(net.Dialer).DialContext}
	c.transport = c.newTransport()
	return c, nil
}

func (c *Client) newTransport() *http.Transport {
	var onlyHTTP1 http.Protocols
	onlyHTTP1.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  c.proxy,
		DialContext:            c.dial,
		Protocols:              &onlyHTTP1,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.cfg.RootCAs},
		TLSHandshakeTimeout:    c.cfg.Timeout,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true,
		MaxIdleConns:           idleAtAll,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleFor,
	}
}

func (c *Client) proxy(*http.Request) (*url.URL, error) { return c.cfg.Proxy, nil }

// Close closes the connections that wait for a next request, and gives up those that are being opened for none. The
// client can still be used.
func (c *Client) Close() { c.transport.CloseIdleConnections() }
