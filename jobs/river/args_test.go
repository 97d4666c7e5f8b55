package river

import (
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
)

// What is accepted can be stored, and what Postgres would refuse is refused with a sentence: nothing raw comes from the
// database in mid-batch.
func TestArgsAreAcceptedWherePostgresTakesThem(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	for text, want := range map[string]bool{
		`{}`: true, ` {"a": 1} `: true, `{"a":"é\u00e9\n"}`: true, `{"a":"\ud83d\ude00"}`: true, `{"a":1e300,"b":-0}`: true,
		`{"a":123456789012345678901234567890}`: true, `{"a":0.1e-30}`: true, `{"a":"\\u0000"}`: true, deep(400): true,
		``: false, `null`: false, `[]`: false, `"x"`: false, `{`: false, `{"a":1} {}`: false, `{"a":"\u0000"}`: false,
		`{"\u0000":1}`: false, `{"a":"\\\u0000"}`: false, `{"a":"\ud800"}`: false, `{"a":"\ud800x"}`: false,
		`{"a":"\ud800\u0041"}`: false, `{"a":"\udc00"}`: false, `{"a":1e999999}`: false, `{"a":1e-999999}`: false,
		`{"a":1e99999999999999999999}`: false, "{\"a\":\"\xff\"}": false, deep(600): false,
		`{"a":"` + strings.Repeat("x", maxArgsBytes) + `"}`: false, `{"a":` + strings.Repeat("9", 20_000) + `}`: false,
	} {
		_, err := encodeArgs("k", json.RawMessage(text))
		if want != (err == nil) {
			t.Errorf("args %.60q: error %v", text, err)
		}
		if err != nil && (!errors.Is(err, jobs.ErrInvalid) || !strings.Contains(err.Error(), `"k"`)) {
			t.Errorf("args %.60q: %v does not say ErrInvalid and the kind", text, err)
		}
		if want {
			if _, err := pool.Exec(t.Context(), "select $1::text::jsonb", text); err != nil {
				t.Errorf("args %.60q are accepted, and Postgres says %v", text, err)
			}
		}
	}
	for _, args := range []any{nil, 7, "x", []int{1}, []byte(`{}`), make(chan int), json.RawMessage(nil)} {
		if _, err := encodeArgs("k", args); !errors.Is(err, jobs.ErrInvalid) {
			t.Errorf("args %T: error %v, want ErrInvalid", args, err)
		}
	}
}

// Whatever passes the check is taken by Postgres.
func FuzzArgs(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":"\u0000"}`, `{"a":"\ud83d\ude00"}`, `{"a":1e5,"b":[1,{"c":null}]}`, `{"a":"\\"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := encodeArgs("k", json.RawMessage(text))
		if err != nil {
			return
		}
		if _, err := canonical(p.text); err != nil {
			t.Errorf("%q is accepted and has no canonical form: %v", text, err)
		}
	})
}

// Key order and white space do not make another job; a value does, however large the number.
func TestUniqueKeyIsOverCanonicalArgs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.MapOf(rapid.String(), rapid.Int64()).Draw(t, "values")
		one, other := shuffled(values), " "+strings.ReplaceAll(shuffled(values), "\n", " ")
		a, err := uniqueKey("k", one)
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := uniqueKey("k", other); string(a) != string(b) {
			t.Fatalf("%s and %s have two keys", one, other)
		}
	})
	for _, pair := range [][2]string{
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`}, {`{"a":1}`, `{"a":"1"}`}, {`{"a":[1,2]}`, `{"a":[2,1]}`}, {`{"a":"<"}`, `{"a":">"}`},
	} {
		a, _ := uniqueKey("k", pair[0])
		b, _ := uniqueKey("k", pair[1])
		if string(a) == string(b) {
			t.Errorf("%s and %s have one key", pair[0], pair[1])
		}
	}
}

// shuffled spells an object with its keys in any order.
func shuffled(values map[string]int64) string {
	keys := slices.Collect(maps.Keys(values))
	rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	parts := make([]string, 0, len(keys))
	for _, key := range keys {
		k, _ := json.Marshal(key)
		v, _ := json.Marshal(values[key])
		parts = append(parts, string(k)+": "+string(v))
	}
	return "{" + strings.Join(parts, " ,") + "}"
}
