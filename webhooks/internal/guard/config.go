package guard

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"time"
)

// Config says where requests may go. The zero value allows public addresses only, on the default ports.
type Config struct {
	// Allow names hosts ("localhost", or "*.test" for all names below test), IP addresses and CIDRs that are allowed
	// although they are not public. It is for development and tests. A host that is named may lead anywhere. Defaults to
	// none.
	Allow []string
	// HTTPSOnly refuses http, also for what Allow names.
	HTTPSOnly bool
	// Ports are the allowed ports. Defaults to 80, 443 and every port from 1024 on.
	Ports []int
	// Proxy is the egress proxy (http, https, socks5 or socks5h) that every request goes through. It may be anywhere.
	// Defaults to none; the environment is never asked.
	Proxy *url.URL
	// Timeout bounds the whole exchange: lookup, connection, TLS, request, headers and body. Defaults to 10 s.
	Timeout time.Duration
	// UserAgent is sent where the request's header names none. Defaults to "postbus".
	UserAgent string
	// RootCAs are the authorities that certificates are judged by. Defaults to the system's.
	RootCAs *x509.CertPool
	// Resolver looks names up. Defaults to net.DefaultResolver.
	Resolver Resolver
}

// Resolver looks a name up; *net.Resolver is one. The network is "ip": addresses of both families are asked for.
type Resolver interface {
	// LookupNetIP returns the addresses of host, best first, or an error where it has none.
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

func (cfg Config) withDefaults() Config {
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "postbus"
	}
	if cfg.Resolver == nil {
		cfg.Resolver = net.DefaultResolver
	}
	cfg.Ports = slices.Clone(cfg.Ports)
	if cfg.Proxy != nil {
		proxy := *cfg.Proxy
		cfg.Proxy = &proxy
	}
	return cfg
}

func (cfg Config) validate() error {
	if cfg.Timeout < 0 {
		return fmt.Errorf("guard: Timeout is %v; it must be positive, or 0 for 10 s", cfg.Timeout)
	}
	for _, port := range cfg.Ports {
		if port < 1 || port > 65535 {
			return fmt.Errorf("guard: Ports has %d; a port is 1 to 65535", port)
		}
	}
	for _, r := range cfg.UserAgent {
		if r < ' ' || r > '~' {
			return fmt.Errorf("guard: UserAgent has the character %q; use printable ASCII", r)
		}
	}
	if cfg.Proxy == nil {
		return nil
	}
	if !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, cfg.Proxy.Scheme) || cfg.Proxy.Hostname() == "" {
		return fmt.Errorf("guard: Proxy %s is not of the form http://host:port; https, socks5 and socks5h will do, too",
			cfg.Proxy.Redacted())
	}
	return nil
}
