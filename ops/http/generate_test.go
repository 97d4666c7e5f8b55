package opshttp_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// sql are strings that break a statement into which they are pasted. They are upper-case: lower-case SQL is ours, and leaked.
var sql = []string{
	`'; DROP TABLE postbus.events; --`, `' OR '1'='1`, `1; SELECT pg_sleep(9)`, `") UNION SELECT 1 --`, `$1`, `%s%n%x`, `\`, `''`, `{"a":1}`,
	`1`, `0`, `-1`, `9223372036854775808`, `note.changed`, `work`, `default`, `ann`, `*`, `%`, `_`, `../../etc/passwd`,
	`eyJ2IjoxfQ`, `AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA`, "line\nbreak", "\u202eturned", "\U0001f600", "é",
	`http://127.0.0.1:8443/x`, `https://[::1]/`, `whsec_`, `0000-01-01T00:00:00Z`, `9999-12-31T23:59:59.999999999Z`, ` `,
}

// hostile are JSON texts that stand in the place of a value.
func hostile() []json.RawMessage {
	out := []string{
		`null`, `true`, `0`, `-1`, `0.5`, `1e308`, `1e400`, `-9223372036854775809`, `9223372036854775807`, `1` + strings.Repeat("0", 5000),
		`""`, `"\u0000"`, `"a\u0000b"`, `"\ud800"`, "\"\xff\xfe\"", `[]`, `{}`, `[null]`, `{"":""}`, `{"a\u0000":1}`, `{"__proto__":{"id":1}}`,
		`"-infinity"`, `"infinity"`, `"-4714-01-01T00:00:00Z"`, `"2026-02-30T00:00:00Z"`, `"294277-01-01T00:00:00Z"`,
		`"` + strings.Repeat("x", 1025) + `"`, `"` + strings.Repeat("é", 3000) + `"`, `[` + strings.Repeat("1,", 2000) + `1]`,
		strings.Repeat("[", 31) + strings.Repeat("]", 31), strings.Repeat(`{"a":`, 100) + `1` + strings.Repeat("}", 100),
	}
	raws := make([]json.RawMessage, 0, len(out)+2*len(sql))
	for _, text := range out {
		raws = append(raws, json.RawMessage(text))
	}
	for _, text := range sql {
		quoted, _ := json.Marshal(text) // a string always can be
		raws = append(raws, quoted, json.RawMessage("["+string(quoted)+"]"))
	}
	return raws
}

// bodies are whole requests that cannot be meant.
func bodies() []string {
	return []string{
		``, ` `, `null`, `[]`, `""`, `0`, `{`, `}`, `{}{}`, `{"a":1}`, "\xff", "{\"\xff\":1}", "\x00", "\xef\xbb\xbf{}", `{"a":NaN}`, `{'a':1}`,
		`{"limit":1,"limit":"2"}`, `{"ID":"1","id":"2"}`, strings.Repeat("[", 9000), strings.Repeat(`{"a":`, 9000), `{"id":"\ud800\u0000"}`,
		`{"a":"` + strings.Repeat("x", 1<<20-8) + `"}`, `{"a":"` + strings.Repeat("x", 10<<20) + `"}`,
	}
}

// ids are such as there are, and cursors.
type ids struct{ known []string }

// generator makes inputs that fit a schema of the document, of nasty values and known ids.
type generator struct {
	*rand.Rand
	ids *ids
}

func (g *generator) value(schema any) any {
	if g.IntN(2) == 0 && at(schema, "enum") != nil {
		return pick(g, at(schema, "enum").([]any))
	}
	switch kind(schema) {
	case "object":
		return g.object(schema)
	case "array":
		items := make([]any, g.IntN(4))
		for i := range items {
			items[i] = g.value(at(schema, "items"))
		}
		return items
	case "integer":
		return pick(g, []json.Number{"0", "1", "2", bound(schema, "minimum", "-9223372036854775808"), bound(schema, "maximum", "9223372036854775807")})
	case "number":
		return pick(g, []json.Number{"0", "0.1", bound(schema, "minimum", "-1e308"), bound(schema, "maximum", "1e308")})
	case "boolean":
		return g.IntN(2) == 0
	case "string":
		return g.text(schema)
	}
	return pick(g, []any{nil, "x", json.Number("1e308"), []any{}, node{"a": pick(g, sql)}, pick(g, sql)})
}

func (g *generator) object(schema any) node {
	out, required := node{}, listed(at(schema, "required"))
	properties, _ := at(schema, "properties").(node)
	for _, name := range sorted(properties) {
		if slices.Contains(required, any(name)) || g.IntN(3) == 0 {
			out[name] = g.value(properties[name])
		}
	}
	if more, ok := at(schema, "additionalProperties").(node); ok {
		out[pick(g, sql)] = g.value(more)
	}
	return out
}

func (g *generator) text(schema any) string {
	if values, ok := at(schema, "enum").([]any); ok {
		return pick(g, values).(string)
	}
	if at(schema, "format") == "date-time" {
		return pick(g, []string{
			"2026-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999999Z", "2099-01-01T00:00:00-12:00",
		})
	}
	text := pick(g, sql)
	if g.IntN(2) == 0 {
		text = pick(g, g.ids.known)
	}
	if most, ok := at(schema, "maxLength").(float64); ok && g.IntN(6) == 0 {
		text = strings.Repeat("é", int(most))
	}
	return text
}

// with is an input that fits but for one place, in which raw stands.
func (g *generator) with(schema any, path []string, raw json.RawMessage) any {
	if len(path) == 0 {
		return raw
	}
	if path[0] == "[]" {
		return []any{g.with(at(schema, "items"), path[1:], raw)}
	}
	out := g.object(schema)
	out[path[0]] = g.with(at(schema, "properties", path[0]), path[1:], raw)
	return out
}

// places are the ways to every value of an input.
func places(schema any) [][]string {
	var out [][]string
	below := func(name string, schema any) {
		out = append(out, []string{name})
		for _, path := range places(schema) {
			out = append(out, append([]string{name}, path...))
		}
	}
	if items := at(schema, "items"); items != nil {
		below("[]", items)
	}
	properties, _ := at(schema, "properties").(node)
	for _, name := range sorted(properties) {
		below(name, properties[name])
	}
	return out
}

// kind is the type of a schema without null; "" is any.
func kind(schema any) string {
	for _, one := range listed(at(schema, "type")) {
		if name, ok := one.(string); ok && name != "null" {
			return name
		}
	}
	return ""
}

func bound(schema any, name string, otherwise json.Number) json.Number {
	if limit, ok := at(schema, name).(float64); ok {
		return json.Number(fmt.Sprint(limit))
	}
	return otherwise
}

func pick[T any](g *generator, from []T) T { return from[g.IntN(len(from))] }

func sorted(properties node) []string {
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
