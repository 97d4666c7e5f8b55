package webhooks

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/measure"
	"github.com/postbus/postbus/internal/tracing"
	"github.com/postbus/postbus/webhooks/internal/guard"
	"github.com/postbus/postbus/webhooks/internal/seal"
)

// Config says how webhooks leave. The zero value delivers to public addresses; endpoints can be made once it has Keys.
type Config struct {
	// Keys seal signing secrets and custom headers at rest, each "id:base64 of 32 bytes" (see NewKey). The first seals, the
	// others only open: to change the key put a new one in front, and drop the old one once nothing is sealed with it.
	Keys []string

	// Allow lists hosts, addresses and networks (CIDR) that may be reached although they are not public. For development and
	// tests, or for receivers inside.
	Allow []string
	// HTTPSOnly refuses http URLs.
	HTTPSOnly bool
	// Ports that URLs may name. Defaults to 80, 443 and all from 1024 on.
	Ports []int
	// Proxy is an egress proxy for all requests; the environment's is never used. Behind one the addresses of names are the
	// proxy's to judge. Defaults to none.
	Proxy *url.URL
	// RootCAs defaults to the system's.
	RootCAs *x509.CertPool
	// Resolver resolves host names. Defaults to net.DefaultResolver.
	Resolver guard.Resolver
	// UserAgent is sent with every request. Defaults to "postbus".
	UserAgent string

	// Filter decides, after types and scope, whether an event goes to an endpoint. It is asked once for each, in the fan-out,
	// and must be quick. Defaults to yes.
	Filter func(ctx context.Context, endpoint Endpoint, event events.Event) bool

	// Timeout bounds a whole exchange, from resolving the name to the answer's last byte. Defaults to 10 s; 10 ms to 30 s.
	Timeout time.Duration
	// Schedule has the wait after each failed attempt, ±10 %; one attempt more than it has entries is made. Defaults to
	// 5 s, 5 min, 30 min, 2 h, 5 h and 10 h twelve times: 18 attempts over 5.3 days.
	Schedule []time.Duration
	// FailingWait is how long a new delivery waits while its endpoint is failing. Defaults to 5 min.
	FailingWait time.Duration
	// DisableAfter is how long an endpoint may fail without one success before it is disabled. Defaults to 5 days.
	DisableAfter time.Duration
	// Lifetime is how long a delivery is tried at most. Defaults to 6 days.
	Lifetime time.Duration
	// Overlap is how long the previous secret stays valid after a rotation. Defaults to 24 h; at most 7 days; -1 is none.
	Overlap time.Duration
	// KeepAttempts is how long attempts are kept. Defaults to 30 days.
	KeepAttempts time.Duration

	// Tracing makes a span of each request for an event that carries a trace. Defaults to none.
	Tracing *tracing.Tracer

	// Measures is told of every attempt's end. Defaults to none.
	Measures *measure.Measures

	// Log defaults to slog.Default().
	Log *slog.Logger
}

// defaultSchedule is 17 waits between 18 attempts.
func defaultSchedule() []time.Duration {
	s := []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour}
	for len(s) < 17 {
		s = append(s, 10*time.Hour)
	}
	return s
}

// leaseMargin is how much longer than a request a slot is leased: time to record the result.
const leaseMargin = 5 * time.Second

func (c Config) withDefaults() (Config, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Schedule == nil {
		c.Schedule = defaultSchedule()
	}
	for _, d := range []struct {
		name                string
		is                  *time.Duration
		fallback, low, high time.Duration
	}{
		{"Timeout", &c.Timeout, 10 * time.Second, 10 * time.Millisecond, 30 * time.Second},
		{"FailingWait", &c.FailingWait, 5 * time.Minute, time.Millisecond, 24 * time.Hour},
		{"DisableAfter", &c.DisableAfter, 5 * 24 * time.Hour, time.Millisecond, 30 * 24 * time.Hour},
		{"Lifetime", &c.Lifetime, 6 * 24 * time.Hour, time.Millisecond, 30 * 24 * time.Hour},
		{"Overlap", &c.Overlap, 24 * time.Hour, -1, 7 * 24 * time.Hour},
		{"KeepAttempts", &c.KeepAttempts, 30 * 24 * time.Hour, time.Minute, 366 * 24 * time.Hour},
	} {
		if *d.is == 0 {
			*d.is = d.fallback
		}
		if *d.is < d.low || *d.is > d.high {
			return c, fmt.Errorf("%w: webhooks: %s is %s; use %s to %s", ErrInvalid, d.name, *d.is, d.low, d.high)
		}
	}
	if len(c.Schedule) > 100 {
		return c, fmt.Errorf("%w: webhooks: Schedule has %d waits; use at most 100", ErrInvalid, len(c.Schedule))
	}
	for i, wait := range c.Schedule {
		if wait <= 0 {
			return c, fmt.Errorf("%w: webhooks: Schedule[%d] is %s; use more than 0", ErrInvalid, i, wait)
		}
	}
	return c, nil
}

func (c Config) guard() guard.Config {
	return guard.Config{
		Allow: c.Allow, HTTPSOnly: c.HTTPSOnly, Ports: c.Ports, Proxy: c.Proxy, RootCAs: c.RootCAs, Resolver: c.Resolver,
		UserAgent: c.UserAgent, Timeout: c.Timeout,
	}
}

func (c Config) ring() (*seal.Ring, error) {
	if len(c.Keys) == 0 {
		return nil, nil
	}
	keys := make([]seal.Key, len(c.Keys))
	for i, text := range c.Keys {
		var err error
		if keys[i], err = seal.ParseKey(text); err != nil {
			return nil, fmt.Errorf("%w: webhooks: Keys[%d]: %w", ErrInvalid, i, err)
		}
	}
	return seal.NewRing(keys...)
}
