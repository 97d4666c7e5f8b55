package events

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestBadEscape(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"a":"b"}`:            "",
		`{"a":"\u0000"}`:       `\u0000`,
		`{"a":"\\u0000"}`:      "",
		`{"a":"\\\u0000"}`:     `\u0000`,
		`{"\u0000":1}`:         `\u0000`,
		`{"a":"\ud83d\ude00"}`: "",
		`{"a":"\ud83d"}`:       `\ud83d without its other half`,
		`{"a":"\ude00\ud83d"}`: `\ude00 without its other half`,
		`{"a":"\ud83dx"}`:      `\ud83d without its other half`,
		`{"a":"\u00e9\n\t\""}`: "",
	} {
		if got := badEscape([]byte(raw)); got != want {
			t.Errorf("badEscape(%s) = %q, want %q", raw, got, want)
		}
	}
}

// What passes has no escape that decodes to NUL; the decoder of the standard library is the oracle.
func FuzzBadEscape(f *testing.F) {
	for _, seed := range []string{`{"a":"\u0000"}`, `"\\u0000"`, `"\ud83d\ude00"`, `["\\\\\u0000"]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var v any
		if json.Unmarshal(raw, &v) != nil {
			return
		}
		hasNUL := holdsNUL(v)
		if got := badEscape(raw); hasNUL && got == "" {
			t.Errorf("badEscape(%q) lets a NUL pass", raw)
		}
	})
}

func holdsNUL(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		for _, e := range v {
			if holdsNUL(e) {
				return true
			}
		}
	case map[string]any:
		for k, e := range v {
			if strings.ContainsRune(k, 0) || holdsNUL(e) {
				return true
			}
		}
	}
	return false
}
