package events

import (
	"fmt"
	"strconv"
	"unicode/utf16"
)

// badEscape finds in valid JSON an escape that Postgres cannot turn into text, so that a cast to jsonb would fail later:
// an escaped NUL, or half of a surrogate pair. It answers "" where there is none.
func badEscape(raw []byte) string {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if raw[i] != 'u' {
			continue
		}
		r := hex4(raw, i+1)
		switch {
		case r == 0:
			return `\u0000`
		case !utf16.IsSurrogate(r):
		case utf16.DecodeRune(r, lowHalf(raw, i+5)) == '\uFFFD':
			return fmt.Sprintf(`\u%04x without its other half`, r)
		default:
			i += 6 // the low half is spoken for
		}
	}
	return ""
}

func lowHalf(raw []byte, at int) rune {
	if at+1 >= len(raw) || raw[at] != '\\' || raw[at+1] != 'u' {
		return -1
	}
	return hex4(raw, at+2)
}

func hex4(raw []byte, at int) rune {
	if at+4 > len(raw) {
		return -1
	}
	n, err := strconv.ParseUint(string(raw[at:at+4]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}
