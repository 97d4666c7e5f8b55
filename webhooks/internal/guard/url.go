package guard

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// ErrBlocked is wrapped by every refusal of the guard: nothing was sent.
var ErrBlocked = errors.New("blocked")

// maxURL is how many bytes a URL may have.
const maxURL = 2048

func blocked(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrBlocked}, args...)...)
}

// target is a URL that passed CheckURL, taken apart.
type target struct {
	url  *url.URL // its host is in lower case
	host string   // without brackets and port
}

// CheckURL refuses what can be refused without a lookup, for the entry of an endpoint; Post does the same again. It
// refuses other schemes than https and http, user names, fragments, ports that are not allowed, more than 2,048 bytes,
// and hosts that are not public: literal addresses however they are spelled, names of one label, names that never are
// public (localhost, local, internal, home.arpa, onion). Names have to be in their ASCII form. The error wraps
// [ErrBlocked].
func (c *Client) CheckURL(raw string) error {
	_, err := c.check(raw)
	return err
}

func (c *Client) check(raw string) (target, error) {
	if len(raw) > maxURL {
		return target{}, blocked("the URL has %d bytes, the limit is %d", len(raw), maxURL)
	}
	if i := strings.IndexFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }); i >= 0 {
		return target{}, blocked("the URL has the character %q at byte %d; write it percent-encoded", raw[i], i)
	}
	// The text of the parser's error would show the URL, and a path can be a secret.
	parsed, err := url.Parse(raw)
	if err != nil {
		return target{}, blocked("this is not a URL of the form https://host/path")
	}
	if err := c.checkParts(parsed, raw); err != nil {
		return target{}, err
	}
	parsed.Host = strings.ToLower(parsed.Host)
	host := parsed.Hostname()
	if err := c.checkHost(host, strings.HasPrefix(parsed.Host, "[")); err != nil {
		return target{}, err
	}
	return target{url: parsed, host: host}, c.checkPort(parsed)
}

func (c *Client) checkParts(parsed *url.URL, raw string) error {
	switch {
	case parsed.Scheme == "http" && c.cfg.HTTPSOnly:
		return blocked("http is not encrypted; use https")
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return blocked("the scheme is %q; use https or http", shown(parsed.Scheme))
	case parsed.Opaque != "" || parsed.Host == "":
		return blocked("the URL names no host; write it as https://host/path")
	case parsed.User != nil:
		return blocked("the URL has a user name or password; leave them out, requests are signed")
	case strings.Contains(raw, "#"):
		return blocked("the URL has a fragment (#), which is never sent; leave it out")
	}
	return nil
}

func (c *Client) checkPort(parsed *url.URL) error {
	written := parsed.Port()
	if written == "" {
		if strings.HasSuffix(parsed.Host, ":") {
			return blocked("the port is empty; leave the colon out")
		}
		written = map[string]string{"http": "80", "https": "443"}[parsed.Scheme]
	}
	port, err := strconv.ParseUint(written, 10, 16)
	switch {
	case err != nil || port == 0 || written[0] == '0':
		return blocked("%q is not a port; a port is 1 to 65535", shown(written))
	case c.cfg.Ports != nil && !slices.Contains(c.cfg.Ports, int(port)):
		return blocked("port %d is not one of the allowed ports %v; allow it with Ports", port, c.cfg.Ports)
	case c.cfg.Ports == nil && port != 80 && port != 443 && port < 1024:
		return blocked("port %d is not 80, 443 or from 1024 on; allow it with Ports", port)
	}
	return nil
}

func (c *Client) checkHost(host string, bracketed bool) error {
	if addr, err := netip.ParseAddr(host); err == nil && bracketed == addr.Is6() {
		return c.checkLiteral(addr)
	}
	switch {
	case endsInNumber(host):
		return blocked("%q is an odd spelling of an address; write four decimal numbers", shown(host))
	case strings.HasSuffix(host, "."):
		return blocked("the host %q ends in a dot; leave it out", shown(host))
	case bracketed || !isName(host):
		return blocked("%q is not the name of a host; write it in ASCII (xn--…), in letters, digits and hyphens", shown(host))
	case c.allow.name(host):
		return nil
	case !strings.Contains(host, "."):
		return blocked(`%q has no dot and is not a public name; allow it with %q in Allow`, shown(host), shown(host))
	}
	for _, top := range []string{"localhost", "local", "internal", "home.arpa", "onion"} {
		if strings.HasSuffix(host, "."+top) || host == top {
			return blocked("names below %s are not public; allow %q with Allow", top, shown(host))
		}
	}
	return nil
}

func (c *Client) checkLiteral(addr netip.Addr) error {
	switch {
	case addr.Zone() != "":
		return blocked("the address has a zone, which is meant for one link")
	case addr.Is4In6():
		return blocked("%v is an odd spelling of an address; write %v", addr, addr.Unmap())
	case c.allow.addr(addr):
		return nil
	}
	if what := kind(addr); what != "" {
		return blocked(`%v is %s; allow it with "%v" in Allow`, addr, what, addr)
	}
	return nil
}
