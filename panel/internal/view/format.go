package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/postbus/postbus/ops"
)

// number is n with a thin space between thousands.
func number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "−", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteRune('\u202f')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// count is a number of things; one that is an estimate says so.
func count(c ops.Count) string {
	if !c.About {
		return number(c.N)
	}
	return "about " + rough(c.N)
}

// rough is a large number as it is said: 2.4 M.
func rough(n int64) string {
	switch {
	case n >= 10_000_000:
		return number(n/1_000_000) + " M"
	case n >= 1_000_000:
		return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " M"
	case n >= 10_000:
		return number(n/1000) + " k"
	}
	return number(n)
}

// size is a number of bytes.
func size(n int64) string {
	const unit = 1024
	if n < unit {
		return number(n) + " B"
	}
	div, exp := int64(unit), 0
	for m := n / unit; m >= unit; m /= unit {
		div *= unit
		exp++
	}
	return fmt.Sprintf("%.1f %ciB", float64(n)/float64(div), "KMGTPE"[exp])
}

// span is a duration in its two largest units.
func span(d time.Duration) string {
	if d < 0 {
		return "−" + span(-d)
	}
	switch {
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + " µs"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// stamp is a moment for machines, and moment for people, in UTC.
func stamp(t time.Time) string  { return t.UTC().Format(time.RFC3339Nano) }
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }

// Moment is a moment for people, in UTC.
func Moment(t time.Time) string { return moment(t) }

// clock is a moment in a dense table: without the day where it is today's.
func clock(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.Year() == now.Year() && t.YearDay() == now.YearDay() {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04")
}

// pretty is JSON with its bytes as they are and breaks between them: numbers, keys and their order are not touched.
func pretty(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// cut is the start of a long text at a rune's edge, and whether it was cut.
func cut(text string, most int) (string, bool) {
	if len(text) <= most {
		return text, false
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most], true
}

// brief is the first line of a text, short enough for a row.
func brief(text string) string {
	line, _, more := strings.Cut(text, "\n")
	line, long := cut(line, 160)
	if more || long {
		return line + " …"
	}
	return line
}

func whoTitle(who ops.Identity) string {
	scopes := make([]string, len(who.Scopes))
	for i, s := range who.Scopes {
		scopes[i] = string(s)
	}
	title := who.Name + ": " + strings.Join(scopes, ", ")
	if who.Owner != "" {
		title += "; owner " + who.Owner
	}
	return title
}

// filterJSON is a query as hx-vals sends it with a form: a JSON object, in which lists stay lists. What is ticked in the form is not meant.
func filterJSON(query map[string][]string) string {
	fields := map[string]any{"ids": ""}
	for name, values := range query {
		if name == "cursor" || name == "limit" || len(values) == 0 {
			continue
		}
		fields[name] = values[0]
		if len(values) > 1 {
			fields[name] = strings.Join(values, ",")
		}
	}
	text, _ := json.Marshal(fields) // of texts
	return string(text)
}

func scopeText(e *ops.Endpoint) string {
	if e == nil {
		return ""
	}
	text, err := json.Marshal(e.Scope)
	if err != nil || string(text) == "{}" {
		return ""
	}
	return string(text)
}

func sortedKeys(m map[string][]string) []string { return slices.Sorted(maps.Keys(m)) }

// typesText are globs as they are listed; none is all.
func typesText(types []string) string {
	if len(types) == 0 {
		return "all"
	}
	return strings.Join(types, ", ")
}
