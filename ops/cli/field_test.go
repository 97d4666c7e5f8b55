package opscli

import (
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Flags only become JSON, of their property's type; what cannot is refused.
func TestFlagBecomesJSON(t *testing.T) {
	t.Parallel()
	text := &huma.Schema{Type: huma.TypeString}
	list := func(items *huma.Schema) *huma.Schema { return &huma.Schema{Type: huma.TypeArray, Items: items} }
	for _, c := range []struct {
		schema *huma.Schema
		given  []string
		want   string // "" is refused
	}{
		{text, []string{`a "b"`}, `"a \"b\""`},
		{text, []string{"first", "last"}, `"last"`},
		{text, []string{"\xff"}, ""},
		{&huma.Schema{Type: huma.TypeInteger}, []string{"9007199254740993"}, "9007199254740993"},
		{&huma.Schema{Type: huma.TypeInteger}, []string{"1.5"}, ""},
		{&huma.Schema{Type: huma.TypeInteger}, []string{"9223372036854775808"}, ""},
		{&huma.Schema{Type: huma.TypeNumber}, []string{"1.5"}, "1.5"},
		{&huma.Schema{Type: huma.TypeNumber}, []string{"NaN"}, ""},
		{&huma.Schema{Type: huma.TypeBoolean}, []string{"true"}, "true"},
		{&huma.Schema{Type: huma.TypeBoolean}, []string{"yes"}, ""},
		{&huma.Schema{Type: huma.TypeString, Format: "date-time"}, []string{"2026-05-01T12:00:00+02:00"}, `"2026-05-01T12:00:00+02:00"`},
		{&huma.Schema{Type: huma.TypeString, Format: "date-time"}, []string{"yesterday"}, ""},
		{&huma.Schema{Type: huma.TypeString, Format: "date-time"}, []string{"-5m"}, ""},
		{&huma.Schema{Type: huma.TypeObject}, []string{`{"a":1}`}, `{"a":1}`},
		{&huma.Schema{}, []string{`[1, null]`}, `[1, null]`},
		{&huma.Schema{}, []string{`bare`}, ""},
		{list(text), []string{"a,b", "c"}, `["a,b","c"]`},
		{list(&huma.Schema{Type: huma.TypeInteger}), []string{"1", "2"}, `[1,2]`},
	} {
		f := &field{name: "x", schema: c.schema}
		var err error
		for _, given := range c.given {
			if err = f.Set(given); err != nil {
				break
			}
		}
		switch {
		case c.want == "" && err == nil:
			t.Errorf("%s %q was taken for %s", f.Type(), c.given, f.json())
		case c.want != "" && err != nil:
			t.Errorf("%s %q: %v", f.Type(), c.given, err)
		case c.want != "" && string(f.json()) != c.want:
			t.Errorf("%s %q became %s, want %s", f.Type(), c.given, f.json(), c.want)
		}
	}
}

func TestAgeIsAMoment(t *testing.T) {
	t.Parallel()
	raw, err := moment("90m")
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339Nano, strings.Trim(string(raw), `"`))
	if age := time.Since(at); err != nil || age < 90*time.Minute || age > 91*time.Minute {
		t.Errorf("90m is %s ago (%v)", age, err)
	}
}
