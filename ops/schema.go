package ops

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

const (
	// MaxInput is how many bytes of input an operation takes.
	MaxInput = 1 << 20
	// maxDepth is how deep input may be nested.
	maxDepth = 32
	// maxText is how long a string may be that says no limit of its own.
	maxText = 1024
)

// schemaOf is the JSON schema of T with nothing to look up: every face can show and check it as it is. Struct tags are huma's:
// doc, minimum, maximum, minLength, maxLength, pattern, enum, maxItems; a field without omitempty is required.
func schemaOf[T any]() *huma.Schema {
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	schema := inline(registry, registry.Schema(reflect.TypeFor[T](), false, "value"))
	schema.PrecomputeMessages()
	return schema
}

// inline puts what a reference names in its place. Types that hold themselves are not allowed among inputs and outputs.
func inline(registry huma.Registry, s *huma.Schema) *huma.Schema {
	if s == nil {
		return nil
	}
	if s.Ref != "" {
		return inline(registry, registry.SchemaFromRef(s.Ref))
	}
	out := *s
	if s.Type == huma.TypeString && s.MaxLength == nil && s.Format != "date-time" && len(s.Enum) == 0 {
		limit := maxText
		out.MaxLength = &limit
	}
	out.Items = inline(registry, s.Items)
	if len(s.Properties) > 0 {
		out.Properties = make(map[string]*huma.Schema, len(s.Properties))
		for name, property := range s.Properties {
			out.Properties[name] = inline(registry, property)
		}
	}
	if nested, ok := s.AdditionalProperties.(*huma.Schema); ok {
		out.AdditionalProperties = inline(registry, nested)
	}
	out.PrecomputeMessages()
	return &out
}

// check holds raw against the schema and answers what is wrong, field by field.
func check(schema *huma.Schema, raw json.RawMessage) error {
	value, err := parse(raw)
	if err != nil {
		return err
	}
	result := &huma.ValidateResult{}
	registry := huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)
	huma.Validate(registry, schema, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, value, result)
	if len(result.Errors) == 0 {
		return nil
	}
	e := newError(Invalid, "the input does not fit")
	for _, fault := range result.Errors {
		var detail *huma.ErrorDetail
		if errors.As(fault, &detail) {
			e.Fields = append(e.Fields, FieldError{Field: detail.Location, Message: detail.Message})
		} else {
			e.Fields = append(e.Fields, FieldError{Message: fault.Error()})
		}
	}
	return e
}

// parse reads one JSON value, bounded in size and depth, of valid text.
func parse(raw json.RawMessage) (any, error) {
	switch {
	case len(raw) > MaxInput:
		return nil, newError(TooLarge, "the input has %d bytes; the limit is %d bytes", len(raw), MaxInput)
	case !utf8.Valid(raw):
		return nil, newError(Invalid, "the input is not UTF-8")
	case tooDeep(raw):
		return nil, newError(Invalid, "the input is nested deeper than %d levels", maxDepth)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, newError(Invalid, "the input is not JSON: %s", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, newError(Invalid, "the input is more than one JSON value")
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, newError(Invalid, "the input is not a JSON object")
	}
	if where := withNUL(value); where {
		return nil, newError(Invalid, `the input holds \u0000, which Postgres cannot store`)
	}
	return value, nil
}

// tooDeep counts brackets outside of strings.
func tooDeep(raw []byte) bool {
	depth, quoted, escaped := 0, false, false
	for _, c := range raw {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

func withNUL(value any) bool {
	switch v := value.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		for _, item := range v {
			if withNUL(item) {
				return true
			}
		}
	case map[string]any:
		for key, item := range v {
			if strings.ContainsRune(key, 0) || withNUL(item) {
				return true
			}
		}
	}
	return false
}

// decode reads input that was checked.
func decode[T any](raw json.RawMessage) (T, error) {
	var in T
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return in, newError(Invalid, "the input does not fit: %s", err)
	}
	return in, nil
}
