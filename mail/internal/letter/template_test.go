package letter

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func render(t *testing.T, text, data string) (Letter, error) {
	t.Helper()
	templates, err := Parse("s", text, "")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	decoded, err := Decode(json.RawMessage(data))
	if err != nil {
		t.Fatal(err)
	}
	return templates.Render(Fields{ID: "1", Type: "note.changed", Subject: "n1", OccurredAt: "2026-01-31T12:00:00Z", Rule: "r", Data: decoded}, 1<<10)
}

// A template reads the event's fields and data: what is not there is nothing, numbers keep their digits.
func TestTemplateReadsFields(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{{.ID}} {{.Type}} {{.Subject}} {{.Rule}}`:              "1 note.changed n1 r",
		`[{{.Data.none}}][{{.Data.none.deeper}}]`:               "[][]",
		`{{.Data.big}} {{.Data.o}} {{.Data.l}} {{.Data.t}}`:     `12345678901234567890.10 {"k":"v"} ["a","b"] true`,
		`{{if eq .Data.n "5"}}five{{else}}other{{end}}`:         "five",
		`{{range $i, $v := .Data.l}}{{$i}}{{$v}};{{end}}`:       "0a;1b;",
		`{{upper "a"}}{{lower "B"}}{{truncate 3 "abcdef"}}`:     "Abab…",
		`{{date "2 Jan 2006" .OccurredAt}}{{join "+" .Data.l}}`: "31 Jan 2026a+b",
		`{{with .Data.none}}x{{else}}y{{end}}{{/* c */}}`:       "y",
	} {
		l, err := render(t, text, `{"big": 12345678901234567890.10, "o": {"k": "v"}, "l": ["a", "b"], "t": true, "n": 5}`)
		if err != nil || l.Text != want {
			t.Errorf("%s: %q, %v; want %q", text, l.Text, err, want)
		}
	}
}

// Whatever a template is, it cannot call what is not allowed, nor be more than one piece.
func TestTemplatesAreRefusedWhenTheyAreWritten(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		`{{printf "%1000000000d" 1}}`:           `"printf" is not allowed`,
		`{{(printf "%d" 1).X}}`:                 `"printf" is not allowed`,
		`{{if (call .Data.f)}}{{end}}`:          `"call" is not allowed`,
		`{{$x := html .Data}}`:                  `"html" is not allowed`,
		`{{range slice .Data.l 1}}{{end}}`:      `"slice" is not allowed`,
		`{{define "x"}}{{template "x"}}{{end}}`: "is not allowed",
		`{{template "s"}}`:                      "is not allowed",
		`{{block "x" .}}{{end}}`:                "is not allowed",
		`{{postbusTick}}`:                       "not for templates",
		`{{.Data.`:                              "unexpected",
		`{{none}}`:                              `"none" not defined`,
		strings.Repeat("x", MaxSource+1):        "the limit is 65536",
	} {
		for _, parse := range []func() error{
			func() error { _, err := Parse("s", text, ""); return err },
			func() error { _, err := Parse("s", "t", text); return err },
		} {
			if err := parse(); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%.60s: %v; want one that says %q", text, err, says)
			}
		}
	}
	if _, err := Parse("s", "t", `<a href="{{if .Data.x}}" {{end}}>`); err == nil {
		t.Error("HTML that ends in two ways is taken")
	}
	if _, err := Parse(" ", "t", ""); err == nil {
		t.Error("an empty subject is taken")
	}
}

// However its data are, a template ends: loops are counted and timed, and no body is larger than the limit.
func TestTemplatesAreBounded(t *testing.T) {
	t.Parallel()
	long, _ := json.Marshal(map[string]any{"l": make([]int, 5000), "s": strings.Repeat("x", 1<<20)})
	for text, says := range map[string]string{
		`{{range .Data.l}}{{range $.Data.l}}{{range $.Data.l}}{{end}}{{end}}{{end}}`: "loop over less", // by turns, or on a slow machine by time
		`{{range 1000000000}}{{end}}`: "loop over less",
		`{{.Data.s}}`:                 "more than 1024 bytes, the limit of a mail's body",
		`{{range .Data.l}}{{range $.Data.l}}{{if eq (upper $.Data.s) "x"}}{{end}}{{end}}{{end}}`: "",
		`{{index .Data.l 5000}}`:  "out of range",
		`{{date "2006" .Data.s}}`: "no time in RFC 3339",
	} {
		began := time.Now()
		_, err := render(t, text, string(long))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %.300v; want one that says %q", text, err, says)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s took %s", text, took)
		}
	}
}

// The bound of turns holds whatever time is left, and the bound of time whatever turns are.
func TestBudgetBoundsTurnsAndTime(t *testing.T) {
	t.Parallel()
	for says, b := range map[string]*budget{
		"turn more than 100000 times": {until: time.Now().Add(time.Hour)},
		"takes more than 2s":          {until: time.Now()},
	} {
		var err error
		turns := 0
		for ; err == nil && turns <= maxTicks; turns++ {
			_, err = b.tick()
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("after %d turns: %v; want one that says %q", turns, err, says)
		}
	}
}

// Where HTML stands decides how data are escaped, and none of it can be more than data.
func TestHTMLIsEscaped(t *testing.T) {
	t.Parallel()
	templates, err := Parse("{{.Data.x}}", "t", `<p title="{{.Data.x}}">{{.Data.x}}</p><a href="{{.Data.u}}">l</a>{{range .Data.l}}<i>{{.}}</i>{{end}}<b>{{.Data.none}}</b>`)
	if err != nil {
		t.Fatal(err)
	}
	l, err := templates.Render(Fields{Data: map[string]any{"x": `"><script>alert(1)</script>`, "u": "javascript:alert(1)", "l": []any{"1", "<2>"}}}, 1<<20)
	want := `<p title="&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;">&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;</p>` +
		`<a href="#ZgotmplZ">l</a><i>1</i><i>&lt;2&gt;</i><b></b>`
	if diff := cmp.Diff(want, l.HTML); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// FuzzLine: what goes into a header is one bounded line, whatever it was.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{"", "a\r\nBcc: b", "\u202e", "=?utf-8?q?x?=", "\xff\xfe", "=\u200b?", strings.Repeat("é", 300)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := Line(text, MaxSubject)
		if strings.ContainsAny(line, "\r\n\x00") || strings.Contains(line, "=?") || len([]rune(line)) > MaxSubject {
			t.Errorf("%q becomes %q", text, line)
		}
		if Line(line, MaxSubject) != line {
			t.Errorf("%q is not the same again", line)
		}
	})
}

// FuzzAddress: what is taken as an address is one that SMTP carries as it is.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"a@b.c", "A <a@b.c>", `"x\r\n" <a@b.c>`, "a@bücher.example", "ü@x.y", "<a@b>", "a@b>", "g: a@b;", "a(c)@b.c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		a, err := ParseAddress(given)
		if err != nil {
			return
		}
		if s := a.String(); strings.ContainsAny(s, " \r\n\t<>,;:\"\\") || strings.Count(s, "@") != 1 || len(s) > maxAddress || strings.ContainsAny(a.Name, "\r\n") {
			t.Errorf("%q becomes %q of %q", given, s, a.Name)
		}
		if again, err := ParseAddress(a.String()); err != nil || again.String() != a.String() {
			t.Errorf("%q is not an address again: %v", a.String(), err)
		}
	})
}
