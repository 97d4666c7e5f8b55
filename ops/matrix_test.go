package ops

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// opens says for each scope which operations it opens, apart from what Identity.May computes.
var opens = map[Access][]Access{Record: {Record}, Read: {Read}, Act: {Read, Act}, Work: {Work}, Admin: {Record, Work, Read, Act, Admin}}

// Every operation, whoever declared it, answers every kind of caller as the matrix says: the walk is over the registry.
func TestRoleMatrix(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	callers := []Identity{
		{}, {Name: "token:none"}, {Name: "token:record", Scopes: []Access{Record}}, {Name: "token:read", Scopes: []Access{Read}}, {Name: "token:work", Scopes: []Access{Work}},
		{Name: "token:act", Scopes: []Access{Act}}, {Name: "token:admin", Scopes: []Access{Admin}},
		{Name: "token:bound", Scopes: []Access{Act}, Owner: "other"}, {Name: "token:boundrecord", Scopes: []Access{Record}, Owner: "other"},
	}
	for _, o := range r.All() {
		if _, ok := opens[o.Access]; !ok {
			t.Errorf("%s asks for the access %q, which is none", o.Name, o.Access)
			continue
		}
		input := minimal(o.Input)
		if err := check(o.Input, input); err != nil {
			t.Errorf("%s: the matrix has no input for it, %s is refused: %v; teach minimal its form", o.Name, input, err)
		}
		for _, who := range callers {
			_, told := do(t, r, who, o.Name, string(input))
			judge(t, o, who, told)
		}
	}
}

// judge holds an answer against the matrix.
func judge(t *testing.T, o *Operation, who Identity, told *Error) {
	t.Helper()
	code := Code("")
	if told != nil {
		code = told.Code
	}
	open := slices.ContainsFunc(who.Scopes, func(scope Access) bool { return slices.Contains(opens[scope], o.Access) })
	switch {
	case who.Name == "":
		if code != Unauthenticated {
			t.Errorf("%s for nobody: %v, want %s", o.Name, told, Unauthenticated)
		}
	case !open || o.Global && who.Owner != "":
		if code != Forbidden {
			t.Errorf("%s for %s: %v, want %s", o.Name, who.Name, told, Forbidden)
		}
	case slices.Contains([]Code{Unauthenticated, Forbidden, Unavailable, Internal}, code):
		t.Errorf("%s for %s: %v, want it to be done or refused for its input", o.Name, who.Name, told)
	}
}

// minimal is the least input that the schema takes: required fields only, each as short as it may be.
func minimal(s *huma.Schema) json.RawMessage {
	out, err := json.Marshal(least(s))
	if err != nil {
		panic(err) // it is built of maps, strings and numbers
	}
	return out
}

func least(s *huma.Schema) any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type == huma.TypeObject || s.Type == "":
		object := map[string]any{}
		for _, name := range s.Required {
			object[name] = least(s.Properties[name])
		}
		return object
	case s.Type == huma.TypeArray:
		items := []any{}
		for s.MinItems != nil && len(items) < *s.MinItems {
			items = append(items, least(s.Items))
		}
		return items
	case s.Type == huma.TypeString:
		return leastText(s)
	case s.Type == huma.TypeBoolean:
		return false
	case s.Minimum != nil:
		return *s.Minimum
	}
	return 0
}

// leastText tries what strings with a form look like.
func leastText(s *huma.Schema) string {
	if s.Format == "email" {
		return "ada@example.com"
	}
	short := 0
	if s.MinLength != nil {
		short = *s.MinLength
	}
	for _, text := range []string{
		strings.Repeat("x", short), "1", "note.changed", "00000000-0000-0000-0000-000000000000", "2026-01-02T15:04:05Z", "http://127.0.0.1:9999/x", "1m",
	} {
		if raw, err := json.Marshal(map[string]string{"x": text}); err == nil && check(&huma.Schema{
			Type: huma.TypeObject, Properties: map[string]*huma.Schema{"x": s},
		}, raw) == nil {
			return text
		}
	}
	return fmt.Sprintf("no form of %q %q", s.Pattern, s.Format)
}
