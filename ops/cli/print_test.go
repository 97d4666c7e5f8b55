package opscli

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/ops"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	const list = `{"items":[{"id":"1","args":{"a":1},"at":"2026-05-01T12:00:00.123456Z"},{"id":"22","state":"ok","at":null,"n":3}],"next":"abc"}`
	long := strings.Repeat("x", maxCell+1)
	for _, c := range []struct {
		name, format, answer, want, hints string
	}{
		{"list as table", "table", list, "ID  AT                    STATE  N\n1   2026-05-01T12:00:00Z  -      -\n22  -                     ok     3\n", "more: --cursor abc\n"},
		{"list as lines", "jsonl", list, `{"id":"1","args":{"a":1},"at":"2026-05-01T12:00:00.123456Z"}` + "\n" + `{"id":"22","state":"ok","at":null,"n":3}` + "\n", "more: --cursor abc\n"},
		{"json keeps next", "json", `{"items":[],"next":"abc"}`, "{\n  \"items\": [],\n  \"next\": \"abc\"\n}\n", ""},
		{"no entries", "table", `{"items":[]}`, "none\n", ""},
		{"no entries as lines", "jsonl", `{"items":[]}`, "", ""},
		{"record", "table", `{"id":"1","in":{"n":1,"all":[]},"tags":["a","b"],"rows":[{"x":1}]}`,
			"id      1\nin.n    1\nin.all  -\ntags    [\"a\",\"b\"]\n\nrows:\nX\n1\n", ""},
		{"one thing is shown whole", "table", `{"a":"` + long + `"}`, "a  " + long + "\n", ""},
		{"a column is not", "table", `{"items":[{"a":"` + long + `"}]}`, "A\n" + long[:maxCell-1] + "…\n", ""},
		{"what would steer a terminal", "table", `{"a":"\u001b[2J","b":"x\ny","c":"\u202e","d":""}`, "a  \\x1b[2J\nb  x\\ny\nc  \\u202e\nd  -\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out, hints bytes.Buffer
			p := printer{format: format(c.format), out: &out, hints: &hints}
			if err := p.answer(json.RawMessage(c.answer)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want+"|"+c.hints, out.String()+"|"+hints.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// An error is one line, the faults of fields below it, and has its exit status.
func TestReport(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		exit int
		want string
	}{
		{nil, 0, ""},
		{errors.New("it\nbroke"), 1, "postbus: it broke\n"},
		{&ops.Error{Code: ops.Unavailable, Message: "away"}, 1, "postbus: away\n"},
		{&ops.Error{Code: ops.Invalid, Message: "no", Fields: []ops.FieldError{{Field: "id", Message: "too\x1blong"}}}, 2, "postbus: no\n  id: too\\x1blong\n"},
		{&ops.Error{Code: ops.NotFound, Message: "no"}, 3, "postbus: no\n"},
		{&ops.Error{Code: ops.Forbidden, Message: "no"}, 4, "postbus: no\n"},
	} {
		var out bytes.Buffer
		if exit := Report(&out, c.err); exit != c.exit || out.String() != c.want {
			t.Errorf("%v: exit %d, %q; want %d, %q", c.err, exit, out.String(), c.exit, c.want)
		}
	}
}
