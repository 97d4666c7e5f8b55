package webhooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Scope narrows the events of an endpoint, as data. All that is given must hold; the zero value takes every event.
type Scope struct {
	// Subjects are whole subjects, or a prefix and "*"; one of them must match. At most 100.
	Subjects []string `json:"subjects,omitempty"`
	// Data says of top-level keys of the event's data which values they may have: each key must be there and equal one of its
	// strings, numbers, bools or nulls. Numbers are equal by value, however they are written and however big. A key that is
	// absent does not match, not even null. At most 20 keys with at most 100 values each.
	Data map[string][]any `json:"data,omitempty"`
}

const (
	maxScopeBytes    = 16 << 10
	maxScopeKeys     = 20
	maxScopeValues   = 100
	maxScopeSubjects = 100
)

// UnmarshalJSON keeps numbers as they are written, so that integers beyond 2^53 stay exact, and refuses unknown fields: a
// misspelt one would widen the scope.
func (sc *Scope) UnmarshalJSON(raw []byte) error {
	type plain Scope
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	decoder.DisallowUnknownFields()
	var decoded plain
	if err := decoder.Decode(&decoded); err != nil {
		return fmt.Errorf("%w: scope: %w: write {\"subjects\": [...], \"data\": {\"key\": [values]}}", ErrInvalid, err)
	}
	*sc = Scope(decoded)
	return nil
}

// normal answers the scope with its values as JSON has them, and its encoding; or says what is wrong with it.
func (sc Scope) normal() (Scope, json.RawMessage, error) {
	if err := sc.checkSubjects(); err != nil {
		return sc, nil, err
	}
	if len(sc.Data) > maxScopeKeys {
		return sc, nil, fmt.Errorf("%w: scope.data has %d keys; use at most %d", ErrInvalid, len(sc.Data), maxScopeKeys)
	}
	normal := Scope{Subjects: slices.Clone(sc.Subjects)}
	for _, key := range slices.Sorted(maps.Keys(sc.Data)) {
		values, err := normalValues(key, sc.Data[key])
		if err != nil {
			return sc, nil, err
		}
		if normal.Data == nil {
			normal.Data = map[string][]any{}
		}
		normal.Data[key] = values
	}
	raw, err := json.Marshal(normal)
	if err != nil {
		return sc, nil, fmt.Errorf("%w: scope: %w", ErrInvalid, err)
	}
	if len(raw) > maxScopeBytes {
		return sc, nil, fmt.Errorf("%w: scope is %d bytes of JSON; the limit is %d: narrow by a prefix, or by Config.Filter",
			ErrInvalid, len(raw), maxScopeBytes)
	}
	return normal, raw, nil
}

func (sc Scope) checkSubjects() error {
	if len(sc.Subjects) > maxScopeSubjects {
		return fmt.Errorf("%w: scope.subjects has %d entries; use at most %d, or a prefix and \"*\"",
			ErrInvalid, len(sc.Subjects), maxScopeSubjects)
	}
	for i, subject := range sc.Subjects {
		prefix := strings.TrimSuffix(subject, "*")
		if subject == "" || strings.Contains(prefix, "*") || !isText(subject) {
			return fmt.Errorf("%w: scope.subjects[%d] is %q; use a whole subject, or a prefix and one \"*\" at the end",
				ErrInvalid, i, subject)
		}
	}
	return nil
}

func normalValues(key string, values []any) ([]any, error) {
	if !isText(key) {
		return nil, fmt.Errorf("%w: scope.data has the key %q; use UTF-8 without NUL", ErrInvalid, key)
	}
	if len(values) == 0 || len(values) > maxScopeValues {
		return nil, fmt.Errorf("%w: scope.data[%q] lists %d values; use 1 to %d, or leave the key out",
			ErrInvalid, key, len(values), maxScopeValues)
	}
	normal := make([]any, len(values))
	for i, value := range values {
		scalar, err := normalScalar(value)
		if err != nil {
			return nil, fmt.Errorf("%w: scope.data[%q][%d] %w", ErrInvalid, key, i, err)
		}
		normal[i] = scalar
	}
	return normal, nil
}

// normalScalar answers what encoding/json makes of the value's JSON: a string, a json.Number, a bool or nil.
func normalScalar(value any) (any, error) {
	if s, ok := value.(string); ok && !utf8.ValidString(s) {
		return nil, fmt.Errorf("is no UTF-8")
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("cannot be JSON: %w", err)
	}
	scalar, err := decodeScalar(raw)
	if err != nil {
		return nil, err
	}
	if n, ok := scalar.(json.Number); ok {
		if _, ok := canonicalNumber(n.String()); !ok {
			return nil, fmt.Errorf("is a number with too long an exponent; use at most 17 digits there")
		}
	}
	return scalar, nil
}

func decodeScalar(raw json.RawMessage) (any, error) {
	if len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') {
		return nil, fmt.Errorf("is an object or array; use a string, a number, true, false or null")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var scalar any
	if err := decoder.Decode(&scalar); err != nil && err != io.EOF {
		return nil, err
	}
	return scalar, nil
}

// isText says whether Postgres can store s as text.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }
