package letter

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of what goes into headers, in characters.
const (
	MaxSubject = 250
	MaxName    = 100
)

// Line makes text fit for a header: one line of at most most characters.
func Line(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || turns(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	text = strings.ReplaceAll(text, "=?", "= ?") // what is encoded is encoded here: nobody else's is decoded
	return cut(text, most)
}

// turns says whether the character changes the direction in which what follows it is shown.
func turns(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// cut shortens text to at most most characters, the last of which then says so.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	return strings.TrimRight(string(runes[:most-1]), " ") + "…"
}
