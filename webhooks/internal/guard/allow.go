package guard

import (
	"fmt"
	"net/netip"
	"strings"
)

// allowed is Config.Allow, read.
type allowed struct {
	hosts    map[string]bool
	below    []string // ".test" for "*.test"
	prefixes []netip.Prefix
}

func parseAllow(entries []string) (allowed, error) {
	list := allowed{hosts: map[string]bool{}}
	for _, entry := range entries {
		if !list.add(strings.ToLower(entry)) {
			return allowed{}, fmt.Errorf(
				"guard: Allow has %q; it takes a host (localhost), all names below one (*.test), an IP address or a CIDR, without port or scheme",
				entry)
		}
	}
	return list, nil
}

func (l *allowed) add(entry string) bool {
	if addr, err := netip.ParseAddr(entry); err == nil {
		if addr.Zone() != "" {
			return false
		}
		addr = addr.Unmap()
		l.prefixes = append(l.prefixes, netip.PrefixFrom(addr, addr.BitLen()))
		return true
	}
	if prefix, err := netip.ParsePrefix(entry); err == nil {
		l.prefixes = append(l.prefixes, prefix.Masked())
		return !prefix.Addr().Is4In6()
	}
	name, wild := strings.CutPrefix(entry, "*.")
	if !isName(name) || endsInNumber(name) {
		return false
	}
	if wild {
		l.below = append(l.below, "."+name)
	} else {
		l.hosts[name] = true
	}
	return true
}

// name says whether a host may lead anywhere. It must be in lower case.
func (l *allowed) name(host string) bool {
	if l.hosts[host] {
		return true
	}
	for _, suffix := range l.below {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}

func (l *allowed) addr(addr netip.Addr) bool {
	for _, prefix := range l.prefixes {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}
