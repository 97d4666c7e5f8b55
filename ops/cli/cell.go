package opscli

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// maxCell is how many characters of a text a table shows. An answer of one thing shows all: it may be a secret to copy.
const maxCell = 80

// member is one member of a JSON object.
type member struct {
	key   string
	value json.RawMessage
}

// membersOf reads an object in the order of its text.
func membersOf(raw json.RawMessage) ([]member, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	start, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	if start != json.Delim('{') {
		return nil, errors.New("not an object")
	}
	members := []member{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string) // of an object always
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		members = append(members, member{key, value})
	}
	return members, nil
}

// scalar is how a table shows a value that is no object and no list.
func scalar(raw json.RawMessage) (text string, ok bool) {
	switch raw[0] {
	case '{', '[':
		return "", false
	case 'n':
		return none, true
	case '"':
		if json.Unmarshal(raw, &text) != nil {
			return "", false
		}
	default:
		return string(raw), true
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at.UTC().Format(time.RFC3339), true
	}
	text = printable(text)
	if text == "" {
		text = none
	}
	return text, true
}

// cut shortens a text for a column.
func cut(text string) string {
	if runes := []rune(text); len(runes) > maxCell {
		return string(runes[:maxCell-1]) + "…"
	}
	return text
}

// printable puts an escape in the place of what would steer a terminal or break a line.
func printable(text string) string {
	if strings.IndexFunc(text, steers) < 0 {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		if !steers(c) {
			b.WriteRune(c)
			continue
		}
		quoted := strconv.QuoteRune(c)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

func steers(c rune) bool { return c != ' ' && !unicode.IsPrint(c) }
