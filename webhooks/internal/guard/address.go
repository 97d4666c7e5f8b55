package guard

import "net/netip"

// network is a range of addresses that are not to be reached.
type network struct {
	prefix netip.Prefix
	kind   string
}

func not(kind string, prefixes ...string) []network {
	var all []network
	for _, prefix := range prefixes {
		all = append(all, network{netip.MustParsePrefix(prefix), kind})
	}
	return all
}

// nat64 is the prefix under which a network without IPv4 reaches the IPv4 internet (RFC 6052).
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// global is what IANA gives out as public IPv6 addresses.
var global = netip.MustParsePrefix("2000::/3")

// special are the networks of IANA's special-purpose address registries (IPv4 and IPv6, as of 2025) that are not the
// public internet, and the addresses at which clouds hand out credentials. The first that fits names the kind.
var special = concat(
	// 168.63.129.16 is Azure's, public by its number. 192.0.0.192 is Oracle's, 100.100.100.200 Alibaba's.
	not("a cloud metadata address", "169.254.169.254/32", "169.254.170.2/32", "100.100.100.200/32", "192.0.0.192/32",
		"168.63.129.16/32", "fd00:ec2::/32", "fd20:ce::254/128"),
	not("an unspecified address", "0.0.0.0/8", "::/128"),
	not("a loopback address", "127.0.0.0/8", "::1/128"),
	not("a private address", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
	not("a shared address of a carrier (CGNAT)", "100.64.0.0/10"),
	not("a link-local address", "169.254.0.0/16", "fe80::/10"),
	not("a documentation address", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),
	not("a benchmark address", "198.18.0.0/15", "2001:2::/48"),
	not("a multicast address", "224.0.0.0/4", "ff00::/8"),
	not("the broadcast address", "255.255.255.255/32"),
	not("a reserved address", "240.0.0.0/4", "192.0.0.0/24"),
	not("an address that hides another (6to4)", "192.88.99.0/24", "2002::/16"),
	not("an address that hides another (Teredo)", "2001::/32"),
	not("a local address of a translator (NAT64)", "64:ff9b:1::/48"),
	not("an address that hides another (IPv4 in IPv6)", "::ffff:0:0/96", "::ffff:0:0:0/96", "::/96"),
	not("an identifier, not an address (ORCHID)", "2001:10::/28", "2001:20::/28"),
	not("an address for protocols", "2001::/23"),
	not("an address that leads nowhere", "100::/64"),
)

func concat(lists ...[]network) []network {
	var all []network
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// kind says of an address that is not public what it is, with its article; "" of a public one.
func kind(addr netip.Addr) string {
	if addr.Zone() != "" {
		return "an address of one link (with a zone)"
	}
	for _, n := range special {
		if n.prefix.Contains(addr) {
			return n.kind
		}
	}
	if nat64.Contains(addr) {
		bytes := addr.As16()
		return kind(netip.AddrFrom4([4]byte(bytes[12:])))
	}
	if addr.Is6() && !global.Contains(addr) {
		return "an address outside of the public ones (2000::/3)"
	}
	return ""
}
