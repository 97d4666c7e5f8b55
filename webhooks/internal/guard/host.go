package guard

import "strings"

// isName says whether a host has the form of a name in DNS: labels of 1 to 63 letters, digits, hyphens and underscores,
// 253 bytes in all. It must be in lower case.
func isName(host string) bool {
	if len(host) > 253 {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if len(label) < 1 || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// endsInNumber says whether a host is an IPv4 address in the eyes of any parser, right or wrong: its last label, before
// a dot at the end, is decimal, octal or hexadecimal. No public name ends so (WHATWG URL, "ends in a number").
func endsInNumber(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndex(host, ".")+1:]
	if last == "" {
		return false
	}
	if digits, hex := strings.CutPrefix(last, "0x"); hex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// shown cuts what strangers wrote to a length that fits a line.
func shown(text string) string {
	const limit = 80
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
