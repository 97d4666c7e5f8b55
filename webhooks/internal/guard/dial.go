package guard

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// maxDials is how many addresses of a name are tried. A stranger's name server may give thousands.
const maxDials = 4

// dial opens the connections of the transport, each of them, to an address that it has judged itself.
func (c *Client) dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	// The transport lets a dial outlive its request, so that the next may use it.
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	host, text, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port %q: %w", text, err)
	}
	addrs, err := c.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	// With a proxy the transport dials nothing else, and the proxy may be anywhere.
	if c.cfg.Proxy == nil {
		if addrs, err = c.vet(host, addrs); err != nil {
			return nil, err
		}
	}
	return c.connectFirst(ctx, network, addrs[:min(len(addrs), maxDials)], uint16(port))
}

// lookup returns at least one address or an error.
func (c *Client) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr.Unmap()}, nil
	}
	found, err := c.cfg.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, &lookupError{host, err}
	}
	if len(found) == 0 {
		return nil, &lookupError{host, &net.DNSError{Err: "no address", Name: host, IsNotFound: true}}
	}
	addrs := make([]netip.Addr, len(found))
	for i, addr := range found {
		addrs[i] = addr.Unmap() // The resolver may give IPv4 in the form of IPv6.
	}
	return addrs, nil
}

// vet keeps the addresses that may be dialled.
func (c *Client) vet(host string, addrs []netip.Addr) ([]netip.Addr, error) {
	if c.allow.name(host) {
		return addrs, nil
	}
	var fit []netip.Addr
	for _, addr := range addrs {
		if addr.IsValid() && (c.allow.addr(addr) || kind(addr) == "") {
			fit = append(fit, addr)
		}
	}
	if len(fit) > 0 {
		return fit, nil
	}
	addr := addrs[0]
	return nil, blocked(`%s resolves to %v, %s; allow it with "%v" or %q in Allow`,
		shown(host), addr, kind(addr), addr, shown(host))
}

// connectFirst dials one address after the other until one answers. Each has its share of the time left.
func (c *Client) connectFirst(ctx context.Context, network string, addrs []netip.Addr, port uint16) (net.Conn, error) {
	end, _ := ctx.Deadline()
	var last error
	for i, addr := range addrs {
		share := time.Until(end) / time.Duration(len(addrs)-i)
		conn, err := c.connectWithin(ctx, share, network, netip.AddrPortFrom(addr, port).String())
		if err == nil {
			return conn, nil
		}
		last = err
	}
	return nil, last
}

func (c *Client) connectWithin(ctx context.Context, d time.Duration, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return c.connect(ctx, network, address)
}

// lookupError says which name was not found. What the resolver says about servers stays inside.
type lookupError struct {
	host  string
	cause error
}

func (e *lookupError) Error() string { return "looking up " + e.host + ": " + e.cause.Error() }

func (e *lookupError) Unwrap() error { return e.cause }
