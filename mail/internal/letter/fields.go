package letter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Fields are all that a template can read.
type Fields struct {
	ID         string // the event's id
	Type       string // its type
	Owner      string // whose it is
	Subject    string // what it is about, for instance an order's number
	OccurredAt string // when, RFC 3339 in UTC
	Rule       string // the rule's name
	// Data is the event's data: {{.Data.customer.name}}. A number has the digits with which it was recorded. What is not there reads as
	// nothing.
	Data any
}

// Decode reads an event's data for Fields.Data.
func Decode(raw json.RawMessage) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var data any
	if err := decoder.Decode(&data); err != nil {
		return nil, fmt.Errorf("the event's data cannot be read: %w", err)
	}
	return data, nil
}

// allowed are the functions that a template may call; the first ones are text/template's.
var allowed = map[string]bool{
	"and": true, "or": true, "not": true, "eq": true, "ne": true, "lt": true, "le": true, "gt": true, "ge": true, "len": true, "index": true,
	"upper": true, "lower": true, "truncate": true, "date": true, "join": true,
}

// functions are ours among them. They hold for one execution.
func functions(b *budget) map[string]any {
	return map[string]any{
		"upper": func(s any) string { return strings.ToUpper(plain(s)) },
		"lower": func(s any) string { return strings.ToLower(plain(s)) },
		"truncate": func(most int, s any) (string, error) {
			if most < 1 {
				return "", errors.New("use a number of characters from 1 on")
			}
			return cut(plain(s), most), nil
		},
		"date": func(layout string, s any) (string, error) {
			at, err := time.Parse(time.RFC3339, plain(s))
			if err != nil {
				return "", fmt.Errorf("%.40q is no time in RFC 3339", plain(s))
			}
			return at.Format(layout), nil
		},
		"join":   join,
		tickName: b.tick,
		// What is shown is text: nothing reads as nothing, and an object or a list as JSON.
		showName: func(v any) string { return strings.ToValidUTF8(plain(v), "\ufffd") },
	}
}

func join(separator string, list any) (string, error) {
	values, ok := list.([]any)
	if !ok && list != nil {
		return "", errors.New("join needs a list")
	}
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = plain(value)
	}
	return strings.Join(texts, separator), nil
}

// plain is a value as text.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return dropControls(v)
	case json.Number:
		return v.String()
	case map[string]any, []any:
		raw, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return string(raw)
	}
	return fmt.Sprint(v)
}

// dropControls takes away what is no text, line breaks and tabs excepted.
func dropControls(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// Names of functions that are put into a template after it was checked; no template can name them.
const (
	tickName = "postbusTick"
	showName = "postbusShow"
)
