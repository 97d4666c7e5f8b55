package panel

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/postbus/postbus/ops"
)

// inputOf makes an operation's input of a form or a query: names are those of the input's fields. What is left empty is left out,
// but for the fields that _empty names: they are texts and lists that may be emptied. Of a field that comes more than once and is no list,
// the last that is not empty counts. What a field holds is checked by the operation; here it only gets its JSON type.
func inputOf(schema *huma.Schema, form url.Values) (json.RawMessage, error) {
	object := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(names(form)) {
		if strings.HasPrefix(name, "_") {
			continue
		}
		field, known := schema.Properties[name]
		if !known {
			return nil, invalid(name, "there is no such field; leave it out")
		}
		value, err := valueOf(field, form[name])
		if err != nil {
			return nil, invalid(name, err.Error())
		}
		if value == nil && slices.Contains(form["_empty"], name) {
			value = emptyOf(field)
		}
		if value != nil {
			object[name] = value
		}
	}
	return json.Marshal(object)
}

func emptyOf(schema *huma.Schema) json.RawMessage {
	if schema.Type == huma.TypeArray {
		return json.RawMessage("[]")
	}
	return json.RawMessage(`""`)
}

func names(form url.Values) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range form {
			if !yield(name) {
				return
			}
		}
	}
}

func invalid(field, message string) error {
	return &ops.Error{Code: ops.Invalid, Message: "the form does not fit", Fields: []ops.FieldError{{Field: field, Message: message}}}
}

// valueOf is the JSON of a field, or nil where nothing was given.
func valueOf(schema *huma.Schema, given []string) (json.RawMessage, error) {
	if schema.Type == huma.TypeArray {
		return arrayOf(schema.Items, given)
	}
	text := ""
	for _, one := range given {
		if one != "" {
			text = one
		}
	}
	if schema.Type != huma.TypeString || schema.Format == "date-time" {
		text = strings.TrimSpace(text)
	}
	if text == "" {
		return nil, nil
	}
	switch schema.Type {
	case huma.TypeBoolean:
		return boolOf(text)
	case huma.TypeInteger, huma.TypeNumber:
		if _, err := strconv.ParseFloat(text, 64); err != nil || !json.Valid([]byte(text)) {
			return nil, fmt.Errorf("%q is not a number", text)
		}
		return json.RawMessage(text), nil
	case huma.TypeString:
		if schema.Format == "date-time" {
			return timeOf(text)
		}
		return json.Marshal(text)
	}
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf(`%q is not JSON; write for instance {"note_id": "42"}`, text)
	}
	return json.RawMessage(text), nil
}

// arrayOf takes values one by one, several to a field with commas or breaks between them.
func arrayOf(items *huma.Schema, given []string) (json.RawMessage, error) {
	var out []json.RawMessage
	for _, text := range given {
		for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' || r == '\r' }) {
			value, err := valueOf(items, []string{strings.TrimSpace(part)})
			if err != nil {
				return nil, err
			}
			if value != nil {
				out = append(out, value)
			}
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	return json.Marshal(out)
}

func boolOf(text string) (json.RawMessage, error) {
	switch text {
	case "on", "true", "1":
		return json.RawMessage("true"), nil
	case "off", "false", "0":
		return json.RawMessage("false"), nil
	}
	return nil, fmt.Errorf("%q is not true or false", text)
}

// timeOf takes RFC 3339, what a browser's field has (meant as UTC), or a duration back from now: 15m, 24h, 7d.
func timeOf(text string) (json.RawMessage, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if at, err := time.Parse(layout, text); err == nil {
			return json.Marshal(at.UTC())
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			return json.Marshal(time.Now().UTC().AddDate(0, 0, -n))
		}
	}
	if back, err := time.ParseDuration(text); err == nil && back >= 0 {
		return json.Marshal(time.Now().UTC().Add(-back))
	}
	return nil, fmt.Errorf("%q is no time: write 2026-01-31T12:00 (UTC), or 1h, 24h, 7d for that long ago", text)
}
