package guard

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// hostile are URLs that a stranger may give. Each is refused on entry.
var hostile = []string{
	// Literal addresses.
	"http://127.0.0.1/", "http://127.255.255.254:8080/", "http://0.0.0.0/", "http://0.1.2.3/", "http://10.0.0.5/",
	"http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.1.1/", "http://100.64.0.1/", "http://100.127.255.255/",
	"http://169.254.169.254/latest/meta-data/", "http://169.254.170.2/", "http://100.100.100.200/", "http://168.63.129.16/",
	"http://192.0.0.192/", "http://192.0.2.1/", "http://198.51.100.1/", "http://203.0.113.5/", "http://198.18.0.1/",
	"http://198.19.255.255/", "http://192.88.99.1/", "http://224.0.0.1/", "http://239.255.255.250/", "http://240.0.0.1/",
	"http://255.255.255.255/",
	"http://[::]/", "http://[::1]/", "http://[0:0:0:0:0:0:0:1]:8080/", "http://[fe80::1]/", "http://[fe80::1%25eth0]/",
	"http://[fc00::1]/", "http://[fd00:ec2::254]/", "http://[fd20:ce::254]/", "http://[fec0::1]/", "http://[ff02::1]/",
	"http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[::ffff:8.8.8.8]/", "http://[::127.0.0.1]/",
	"http://[::8.8.8.8]/", "http://[::ffff:0:127.0.0.1]/", "http://[64:ff9b::127.0.0.1]/", "http://[64:ff9b::a9fe:a9fe]/",
	"http://[64:ff9b:1::808:808]/", "http://[2002:7f00:1::]/", "http://[2001:0:808:808::1]/", "http://[2001:10::1]/",
	"http://[2001:20::1]/", "http://[2001:2::1]/", "http://[2001:db8::1]/", "http://[3fff::1]/", "http://[100::1]/",
	"http://[5f00::1]/", "http://[4000::1]/", "http://[2606:4700::1111%25eth0]/",
	// Odd spellings, which other parsers take for addresses.
	"http://2130706433/", "http://0x7f000001/", "http://017700000001/", "http://0177.0.0.1/", "http://0x7f.1/", "http://127.1/",
	"http://127.0.1/", "http://127.0.0.1./", "http://0x7F.0.0.0x1/", "http://0/", "http://0x/", "http://00000.0/",
	"http://8.8.8.08/", "http://256.256.256.256/", "http://1.2.3.4.5/", "http://127.0.0.1.0x1/", "http://[127.0.0.1]/",
	"http://１２７.０.０.１/", "http://127。0。0。1/", "http://①②⑦.⓪.⓪.①/", "http://ⓛocalhost/", "http://%31%32%37.0.0.1/",
	"http://127.0.0.1%00.hook.example/", "http://hook.example%2f@127.0.0.1/", "http://::1/", "http://[::1/",
	// Names.
	"http://localhost/", "http://LOCALHOST:8080/", "http://localhost./", "http://a.localhost/", "http://printer/",
	"http://nas.local/", "http://metadata.google.internal/", "http://router.home.arpa/", "http://x.onion/", "http://hook.example./",
	"http://hook..example/", "http://.example/", "http://" + strings.Repeat("a", 64) + ".example/",
	"http://" + strings.Repeat("a.", 130) + "example/", "http://bücher.example/", "http://hook .example/", "http://*.example/",
	// Schemes and parts.
	"", "hook.example", "/in", "//hook.example/in", "https:hook.example", "https:///in", "https://", "https://:443/", "ftp://hook.example/",
	"file:///etc/passwd", "gopher://hook.example/", "javascript:alert(1)", "data:text/plain,x", "unix:///run/docker.sock",
	"http+unix://%2Frun%2Fdocker.sock/", "jar:https://hook.example!/", "ldap://hook.example/", "ws://hook.example/",
	"https://user@hook.example/", "https://user:secret@hook.example/", "https://@hook.example/", "https://:@hook.example/",
	`https://hook.example\@127.0.0.1/`, `https:\\127.0.0.1\`, "https://127.0.0.1#@hook.example/", "https://hook.example/#", "https://hook.example/#x",
	"https://hook.example/a b", "https://hook.example/\r\nHost: x", "https://hook.example/\x00", " https://hook.example/", "https://hook.example/\t",
	"https://hook.example/" + strings.Repeat("a", 2048),
	// Ports.
	"http://hook.example:22/", "http://hook.example:25/", "http://hook.example:1023/", "http://hook.example:0/", "http://hook.example:/",
	"http://hook.example:65536/", "http://hook.example:-1/", "http://hook.example:080/", "http://hook.example:+80/", "http://hook.example:http/",
	"http://hook.example:80:80/", "http://hook.example:8０/",
}

// Promise: what CheckURL can refuse without a lookup is refused on entry and never dialled.
func TestHostileURLsAreRefused(t *testing.T) {
	t.Parallel()
	c := newClient(t, Config{Resolver: zone{}})
	var dialled dials
	dialled.record(c)
	for _, raw := range hostile {
		if err := c.CheckURL(raw); !errors.Is(err, ErrBlocked) {
			t.Errorf("CheckURL(%q) = %v, want a refusal", raw, err)
		} else if text := err.Error(); strings.ContainsAny(text, "\r\n\x00") || len(text) > 250 || strings.Contains(text, "secret") {
			t.Errorf("CheckURL(%q) = %q, want a short line without secrets", raw, text)
		}
		if got := post(t, c, raw); !got.Blocked || !errors.Is(got.Err, ErrBlocked) || got.Status != 0 {
			t.Errorf("Post to %q = %+v, want it blocked", raw, got)
		}
	}
	if len(hostile) < 60 || len(dialled.all()) > 0 {
		t.Errorf("%d URLs, dialled %v, want none", len(hostile), dialled.all())
	}
}

func TestOrdinaryURLsAreAccepted(t *testing.T) {
	t.Parallel()
	c := newClient(t, Config{})
	for _, raw := range []string{
		"https://hook.example/in?x=1&y=%20", "http://hook.example", "HTTPS://Hook.Example:443/", "https://hook.example:8443/ä",
		"https://xn--bcher-kva.example/", "https://a_b.hook.example:1024/", "https://8.8.8.8/", "https://100.63.255.255/",
		"https://100.128.0.1/", "https://172.32.0.1/", "https://192.0.1.1/", "https://198.20.0.1/", "https://223.255.255.255/",
		"https://[2606:4700::1111]/", "https://[2a00:1450::1]:8443/", "https://[64:ff9b::808:808]/", "https://1.2.3.4.example/",
		"https://0x7f.example/", "https://hook.example:65535/",
	} {
		if err := c.CheckURL(raw); err != nil {
			t.Errorf("CheckURL(%q) = %v", raw, err)
		}
	}
}

func TestConfigNarrowsAndWidens(t *testing.T) {
	t.Parallel()
	c := newClient(t, Config{HTTPSOnly: true, Ports: []int{22, 443},
		Allow: []string{"localhost", "*.test", "10.1.0.0/16", "::1", "fe80::/10", "::ffff:192.168.0.7"}})
	for raw, want := range map[string]bool{
		"https://localhost/": true, "https://LOCALHOST:22/": true, "https://a.b.test/": true, "https://10.1.2.3/": true, "https://[::1]/": true,
		"https://192.168.0.7/": true, "https://hook.example/": true,
		"http://localhost/": false, "https://localhost:80/": false, "https://hook.example:8443/": false, "https://test/": false,
		"https://atest/": false, "https://10.2.0.1/": false, "https://10.1.1/": false, "https://127.0.0.1/": false, "https://[fe80::1%25lo]/": false,
		"https://[::ffff:10.1.2.3]/": false, "https://localhost./": false, "https://192.168.0.8/": false,
	} {
		if err := c.CheckURL(raw); (err == nil) != want {
			t.Errorf("CheckURL(%q) = %v, want it allowed: %v", raw, err, want)
		}
	}
}

func TestConfigsThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"a port in Allow":   {Allow: []string{"localhost:8080"}},
		"a scheme in Allow": {Allow: []string{"http://localhost"}},
		"everything":        {Allow: []string{"*"}},
		"an empty entry":    {Allow: []string{""}},
		"an odd spelling":   {Allow: []string{"127.1"}},
		"a zone":            {Allow: []string{"fe80::1%lo"}},
		"a port too high":   {Ports: []int{65536}},
		"a negative time":   {Timeout: -1},
		"a line break":      {UserAgent: "a\r\nb"},
		"no proxy":          {Proxy: &url.URL{Scheme: "ftp", Host: "proxy"}},
		"a proxy nowhere":   {Proxy: &url.URL{Scheme: "http"}},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: New accepts it", name)
		}
	}
}

// Promise: a URL that is accepted leads to no address that is not public, however its host is read.
func FuzzCheckURL(f *testing.F) {
	for _, raw := range hostile {
		f.Add(raw)
	}
	f.Add("https://8.8.8.8/")
	f.Add("https://[64:ff9b::808:808]:8443/x?y")
	c := newClient(f, Config{})
	f.Fuzz(func(t *testing.T, raw string) {
		if c.CheckURL(raw) != nil {
			return
		}
		parsed, err := url.Parse(raw)
		if err != nil {
			t.Fatalf("accepted, and no URL: %v", err)
		}
		addr, ok := readAddress(parsed.Hostname())
		if ok && !looksPublic(addr) {
			t.Errorf("%q is accepted and leads to %v", raw, addr)
		}
	})
}

// readAddress reads what inet_aton of the C library would, and IPv6.
func readAddress(host string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr, true
	}
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 0, 32)
		if err != nil {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			sum |= n << (24 - 8*i)
		} else {
			sum |= n
		}
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), true
}

// looksPublic judges by the methods of netip, not by the table under test.
func looksPublic(addr netip.Addr) bool {
	bytes := addr.As16()
	if addr.Is6() && strings.HasPrefix(addr.StringExpanded(), "0064:ff9b:0000:0000:0000:0000:") {
		return looksPublic(netip.AddrFrom4([4]byte(bytes[12:])))
	}
	if addr.Is4In6() || addr.Zone() != "" || addr.Is6() && bytes[0]>>5 != 1 {
		return false
	}
	return addr.IsGlobalUnicast() && !addr.IsPrivate() && !addr.IsLoopback() && !addr.IsLinkLocalUnicast()
}
