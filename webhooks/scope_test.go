package webhooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/postbus/postbus/events"
)

func scopeFrom(t testing.TB, text string) Scope {
	t.Helper()
	var sc Scope
	if err := json.Unmarshal([]byte(text), &sc); err != nil {
		t.Fatal(err)
	}
	sc, _, err := sc.normal()
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func TestScopeMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scope, subject, data string
		want                 bool
	}{
		{`{}`, "s", `[1]`, true},
		{`{"subjects":["note-1"]}`, "note-1", `{}`, true},
		{`{"subjects":["note-1"]}`, "note-12", `{}`, false},
		{`{"subjects":["a","note-*"]}`, "note-12", `{}`, true},
		{`{"subjects":["note-*"]}`, "note-", `{}`, true},
		{`{"subjects":["note-*"]}`, "note", `{}`, false},
		{`{"subjects":["note-*"]}`, "note-*", `{}`, true},
		{`{"subjects":["*"]}`, "anything", `{}`, true},
		{`{"data":{"a":["x"]}}`, "s", `{"a":"x"}`, true},
		{`{"data":{"a":["x"]}}`, "s", `{"a":"X"}`, false},
		{`{"data":{"a":["x"]}}`, "s", `{"A":"x"}`, false},
		{`{"data":{"a":["x"]}}`, "s", `{"a":"\u0078"}`, true},
		{`{"data":{"a":["x","y"]}}`, "s", `{"b":1,"a":"y"}`, true},
		{`{"data":{"a":["x"],"b":[true]}}`, "s", `{"a":"x"}`, false},
		{`{"data":{"a":["x"],"b":[true]}}`, "s", `{"a":"x","b":true}`, true},
		{`{"data":{"a":[null]}}`, "s", `{}`, false},
		{`{"data":{"a":[null]}}`, "s", `{"a":null}`, true},
		{`{"data":{"a":[false]}}`, "s", `{"a":null}`, false},
		{`{"data":{"a":["1"]}}`, "s", `{"a":1}`, false},
		{`{"data":{"a":[1]}}`, "s", `{"a":1.0}`, true},
		{`{"data":{"a":[1]}}`, "s", `{"a": 10e-1 }`, true},
		{`{"data":{"a":[0]}}`, "s", `{"a":-0.000e5}`, true},
		{`{"data":{"a":[9007199254740993]}}`, "s", `{"a":9007199254740993}`, true},
		{`{"data":{"a":[9007199254740993]}}`, "s", `{"a":9007199254740992}`, false},
		{`{"data":{"a":[1e1000000]}}`, "s", `{"a":10e999999}`, true},
		{`{"data":{"a":[1]}}`, "s", `{"a":[1]}`, false},
		{`{"data":{"a":[1]}}`, "s", `{"a":{"a":1}}`, false},
		{`{"data":{"a":[1]}}`, "s", `{"a":2,"a":1}`, true},
		{`{"data":{"a":[1]}}`, "s", `[{"a":1}]`, false},
		{`{"data":{"a":[1]}}`, "s", `"a"`, false},
		{`{"data":{"a":[1]}}`, "s", `null`, false},
		{`{"subjects":["x"],"data":{"a":[1]}}`, "s", `{"a":1}`, false},
	} {
		event := events.Event{Subject: c.subject, Data: json.RawMessage(c.data)}
		if got := scopeFrom(t, c.scope).matches(event); got != c.want {
			t.Errorf("%s on subject %q and data %s: %v, want %v", c.scope, c.subject, c.data, got, c.want)
		}
	}
}

func TestEndpointTakesByTypeAndScope(t *testing.T) {
	t.Parallel()
	e := Endpoint{Types: []string{"a.b", "c.*"}, Scope: scopeFrom(t, `{"subjects":["s"]}`)}
	for typ, want := range map[string]bool{"a.b": true, "a.c": false, "c.d": true, "c": false} {
		if got := e.takes(events.Event{Type: typ, Subject: "s"}); got != want {
			t.Errorf("type %s: %v, want %v", typ, got, want)
		}
		if e.takes(events.Event{Type: typ, Subject: "other"}) {
			t.Errorf("type %s: taken in spite of the scope", typ)
		}
	}
}

func TestScopeIsRefused(t *testing.T) {
	t.Parallel()
	many := func(n int) []any { return make([]any, n) }
	keys := map[string][]any{}
	for i := range maxScopeKeys + 1 {
		keys[fmt.Sprint(i)] = []any{1}
	}
	for _, c := range []struct {
		scope Scope
		says  string
	}{
		{Scope{Subjects: []string{""}}, "subjects[0]"},
		{Scope{Subjects: []string{"a*b"}}, "subjects[0]"},
		{Scope{Subjects: []string{"a**"}}, "subjects[0]"},
		{Scope{Subjects: []string{"a\x00"}}, "subjects[0]"},
		{Scope{Subjects: make([]string, maxScopeSubjects+1)}, "at most 100"},
		{Scope{Data: keys}, "at most 20"},
		{Scope{Data: map[string][]any{"k": {}}}, "leave the key out"},
		{Scope{Data: map[string][]any{"k": many(maxScopeValues + 1)}}, "1 to 100"},
		{Scope{Data: map[string][]any{"k": {[]int{1}}}}, `"k"][0] is an object or array`},
		{Scope{Data: map[string][]any{"k": {map[string]int{}}}}, "is an object or array"},
		{Scope{Data: map[string][]any{"k": {json.Number("1e" + strings.Repeat("9", 20))}}}, "exponent"},
		{Scope{Data: map[string][]any{"k": {func() {}}}}, "cannot be JSON"},
		{Scope{Data: map[string][]any{"k": {"a\xff"}}}, "UTF-8"},
		{Scope{Data: map[string][]any{"k": {strings.Repeat("x", maxScopeBytes)}}}, "the limit is 16384"},
	} {
		_, _, err := c.scope.normal()
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.80v: %v, want ErrInvalid that says %q", c.scope, err, c.says)
		}
	}
	if err := json.Unmarshal([]byte(`{"subject":["a"]}`), new(Scope)); !errors.Is(err, ErrInvalid) {
		t.Errorf("a misspelt field: %v, want ErrInvalid", err)
	}
}

func TestScopeSurvivesItsEncoding(t *testing.T) {
	t.Parallel()
	sc := Scope{Subjects: []string{"a*", "<b>"}, Data: map[string][]any{"k": {1, int64(9007199254740993), 1.5, "x", true, nil}}}
	normal, raw, err := sc.normal()
	if err != nil {
		t.Fatal(err)
	}
	again, err := scopeOf("id", raw)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(normal, again); diff != "" {
		t.Error(diff)
	}
}

// A number costs what its text does, whatever it stands for.
func TestHugeNumbersCostNothing(t *testing.T) {
	t.Parallel()
	began := time.Now()
	sc := scopeFrom(t, `{"data":{"a":[1e1000000, -1e-99999999999999999]}}`)
	for _, data := range []string{`{"a":1e99999999999999999}`, `{"a":1e999999999999999999999999}`, `{"a":` + strings.Repeat("9", 100_000) + `}`} {
		if sc.matches(events.Event{Data: json.RawMessage(data)}) {
			t.Errorf("%.40s matches", data)
		}
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("took %s", took)
	}
}

// oracle compares numbers by expanding them.
func oracle(a, b string) bool {
	x, ok := new(big.Rat).SetString(a)
	y, okToo := new(big.Rat).SetString(b)
	return ok && okToo && x.Cmp(y) == 0
}

func numbers() *rapid.Generator[string] {
	return rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?`)
}

func TestNumbersAreEqualByValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := numbers().Draw(t, "a")
		b := rapid.OneOf(numbers(), rapid.Custom(func(t *rapid.T) string {
			zeros := rapid.IntRange(0, 5).Draw(t, "zeros")
			exact, _ := new(big.Rat).SetString(a)
			if text := exact.FloatString(110); zeros < 3 {
				return text
			}
			return a
		})).Draw(t, "b")
		if got, want := equalScalars(json.Number(a), json.Number(b)), oracle(a, b); got != want {
			t.Fatalf("%s equals %s: %v, want %v", a, b, got, want)
		}
	})
}

// naive is the scope's meaning, spelled out without a thought for cost.
func naive(sc Scope, e events.Event) bool {
	subject := len(sc.Subjects) == 0
	for _, s := range sc.Subjects {
		subject = subject || s == e.Subject || s != "" && s[len(s)-1] == '*' && strings.HasPrefix(e.Subject, s[:len(s)-1])
	}
	var data map[string]any
	_ = json.Unmarshal(e.Data, &data)
	for key, values := range sc.Data {
		one := false
		is, there := data[key]
		for _, v := range values {
			if n, ok := v.(json.Number); ok {
				v, _ = n.Float64()
			}
			switch is.(type) {
			case map[string]any, []any:
			default:
				one = one || there && v == is
			}
		}
		subject = subject && one
	}
	return subject
}

func TestScopeMatchesAsSpelledOut(t *testing.T) {
	t.Parallel()
	scalar := rapid.OneOf(
		rapid.Map(rapid.IntRange(-3, 3), func(i int) any { return i }), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.SampledFrom([]string{"", "a", "1", "true", "null"}), func(s string) any { return s }), rapid.Just[any](nil))
	value := rapid.OneOf(scalar, rapid.Just[any]([]any{1}), rapid.Just[any](map[string]any{"a": 1}))
	key := rapid.SampledFrom([]string{"a", "b", "c"})
	rapid.Check(t, func(t *rapid.T) {
		sc := Scope{
			Subjects: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "ab", "a*", "*", "b*"}), 0, 2).Draw(t, "subjects"),
			Data:     rapid.MapOfN(key, rapid.SliceOfN(scalar, 1, 3), 0, 2).Draw(t, "wants"),
		}
		sc, _, err := sc.normal()
		if err != nil {
			t.Fatal(err)
		}
		data, _ := json.Marshal(rapid.MapOfN(key, value, 0, 3).Draw(t, "data"))
		e := events.Event{Subject: rapid.SampledFrom([]string{"a", "ab", "b", "c"}).Draw(t, "subject"), Data: data}
		if got, want := sc.matches(e), naive(sc, e); got != want {
			t.Fatalf("%+v on %q %s: %v, want %v", sc, e.Subject, data, got, want)
		}
	})
}

func FuzzScope(f *testing.F) {
	f.Add(`{"subjects":["a*"],"data":{"k":[1e5,"x",null,true]}}`, `{"k":1.0E+5}`, "a")
	f.Add(`{"data":{"k":[-0]}}`, `{"k":0e-9,"k":{}}`, "")
	f.Fuzz(func(t *testing.T, scope, data, subject string) {
		var sc Scope
		if json.Unmarshal([]byte(scope), &sc) != nil {
			return
		}
		normal, raw, err := sc.normal()
		if err != nil {
			return
		}
		again, err := scopeOf("id", raw)
		if err != nil {
			t.Fatalf("%s cannot be read back: %v", raw, err)
		}
		e := events.Event{Subject: subject, Data: json.RawMessage(data)}
		if normal.matches(e) != again.matches(e) {
			t.Errorf("%s means another thing after its encoding, on %q and %q", raw, subject, data)
		}
	})
}

func FuzzNumber(f *testing.F) {
	for _, seed := range []string{"0", "-0.0e1", "1e1000000", "12.500", "1e-7", "01", "1.", ".5", "+1", "1e", "1e+-2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, ok := canonicalNumber(text)
		if !ok {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("%q is no JSON number and is taken", text)
		}
		if again, ok := canonicalNumber(value); !ok || again != value {
			t.Errorf("%q becomes %q, which becomes %q", text, value, again)
		}
		if exact, ok := new(big.Float).SetString(text); ok && len(text) < 12 && !exact.IsInf() && len(value) < 12 {
			other, _ := new(big.Float).SetString(value)
			if x, _ := exact.Float64(); other != nil {
				if y, _ := other.Float64(); x != y {
					t.Errorf("%q becomes %q", text, value)
				}
			}
		}
	})
}
