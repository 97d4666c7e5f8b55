package opscli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// field is the flag of one property of an input: it turns text into JSON.
type field struct {
	name   string
	schema *huma.Schema
	values []json.RawMessage
	also   string // another name of the flag, or ""
}

// String implements pflag.Value; no default is shown.
func (f *field) String() string { return "" }

// Type implements pflag.Value: it is what help shows for the value.
func (f *field) Type() string { return kindOf(f.schema) }

// Set implements pflag.Value.
func (f *field) Set(text string) error {
	schema := f.schema
	if schema.Type == huma.TypeArray {
		schema = schema.Items
	}
	value, err := convert(schema, text)
	if err != nil {
		return err
	}
	if f.schema.Type != huma.TypeArray {
		f.values = nil
	}
	f.values = append(f.values, value)
	return nil
}

// json is the property's value.
func (f *field) json() json.RawMessage {
	if f.schema.Type != huma.TypeArray {
		return f.values[0]
	}
	out, _ := json.Marshal(f.values) // valid one by one
	return out
}

func kindOf(s *huma.Schema) string {
	switch {
	case s == nil || s.Type == "" || s.Type == huma.TypeObject:
		return "json"
	case s.Type == huma.TypeArray:
		return kindOf(s.Items) + "..."
	case s.Type == huma.TypeBoolean:
		return "bool"
	case s.Type == huma.TypeString && s.Format == "date-time":
		return "time"
	}
	return s.Type
}

// convert reads text as a value of the schema's type. Whether it fits otherwise is the operation's to say.
func convert(s *huma.Schema, text string) (json.RawMessage, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("it is not UTF-8")
	}
	switch kindOf(s) {
	case "string":
		return json.Marshal(text)
	case "time":
		return moment(text)
	case "bool":
		b, err := strconv.ParseBool(text)
		if err != nil {
			return nil, errors.New("it is not true or false")
		}
		return json.Marshal(b)
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, errors.New("it is not a whole number of 64 bits")
		}
		return json.Marshal(n)
	case "number":
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, errors.New("it is not a number")
		}
		return json.Marshal(n)
	}
	if !json.Valid([]byte(text)) {
		return nil, errors.New(`it is not JSON; text needs quotes of its own: '"like this"'`)
	}
	return json.RawMessage(text), nil
}

// moment is a time in RFC 3339, or an age: "90m" is 90 minutes ago.
func moment(text string) (json.RawMessage, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		age, ageErr := time.ParseDuration(text)
		if ageErr != nil || age < 0 {
			return nil, errors.New("it is neither a time such as 2026-05-01T12:00:00Z nor an age such as 90m or 24h")
		}
		at = time.Now().Add(-age).UTC()
	}
	return json.Marshal(at)
}

// usage is the flag's line in the help.
func (f *field) usage(required bool) string {
	parts := []string{}
	if doc := strings.ReplaceAll(f.schema.Description, "`", "'"); doc != "" {
		parts = append(parts, doc)
	}
	if one := enumOf(f.schema); len(one) > 0 {
		parts = append(parts, "one of "+strings.Join(one, ", "))
	}
	if f.schema.Type == huma.TypeArray {
		parts = append(parts, "repeatable")
		if f.also != "" {
			parts[len(parts)-1] += ", --" + f.also + " does as well"
		}
	}
	if required {
		parts = append(parts, "required")
	}
	return strings.Join(parts, "; ")
}

// enumOf are the values that a property, or each entry of it, may have.
func enumOf(s *huma.Schema) []string {
	if s.Type == huma.TypeArray && s.Items != nil {
		s = s.Items
	}
	out := make([]string, len(s.Enum))
	for i, v := range s.Enum {
		out[i] = fmt.Sprint(v)
	}
	return out
}
