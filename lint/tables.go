package lint

import (
	"path"
	"regexp"
	"strings"
)

var (
	// creates matches a statement that makes a table; a temporary one lives too briefly to have events.
	creates = regexp.MustCompile(`(?im)^[ \t]*create\s+(?:unlogged\s+)?table\s+(?:if\s+not\s+exists\s+)?("?[\w]+"?(?:\."?[\w]+"?)?)`)
	policy  = regexp.MustCompile(`^--\s*events:\s*(.*)$`)
	none    = regexp.MustCompile(`^none\s*\(\s*\S.*\)$`)

	// A capture is a trigger that runs a function of Postbus's or one that records, a literal in Go, or a command that installs one.
	triggers = regexp.MustCompile(`(?is)create\s+(?:or\s+replace\s+)?(?:constraint\s+)?trigger\s+\S+\s+(?:after|before)\b[^;]*?\bon\s+("?\w+"?(?:\."?\w+"?)?)[^;]*?execute\s+(?:function|procedure)\s+([\w."]+)`)
	function = regexp.MustCompile(`(?is)create\s+(?:or\s+replace\s+)?function\s+([\w."]+)\s*\(.*?\bas\s+(\$\w*\$)`)
	commands = regexp.MustCompile(`postbus\s+capture\s+add\s+(?:--?\S+\s+)*["']?([\w.]+)`)
)

// tables holds the rule events.
func (t *tree) tables() []Finding {
	captured := t.captured()
	var found []Finding
	for _, name := range t.names(isUp) {
		src := t.files[name]
		bare := uncommented(src)
		for _, at := range creates.FindAllStringSubmatchIndex(bare, -1) {
			table, line := plain(bare[at[2]:at[3]]), lineOf(src, at[2])
			say := func(what, fix string) {
				found = append(found, Finding{File: name, Line: line, Rule: "events", What: what, Fix: fix})
			}
			declared, ok := policyBefore(src, at[2])
			switch {
			case !ok:
				say("table "+table+" does not say whether its changes are events",
					`write "-- events: emit" or "-- events: none (reason)" in the comment before it`)
			case declared == "emit" && !captured[table] && !captured[table[strings.LastIndex(table, ".")+1:]]:
				say("table "+table+" is declared to emit and nothing captures it",
					`add a Capture for it, in Go or with "postbus capture add `+table+`", or a trigger that calls postbus.record`)
			case declared != "emit" && !none.MatchString(declared):
				say("table "+table+` has the policy "`+declared+`"`,
					`write "-- events: emit" or "-- events: none (reason)", with a reason`)
			}
		}
	}
	return found
}

// isUp says whether a file holds SQL that makes tables: one that takes a migration back makes none to stay.
func isUp(name string) bool {
	return path.Ext(name) == ".sql" && !strings.HasSuffix(name, ".down.sql")
}

// policyBefore reads the policy out of the lines of comment right before the statement.
func policyBefore(src string, at int) (string, bool) {
	lines := strings.Split(src[:at], "\n")
	for i := len(lines) - 2; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		if !strings.HasPrefix(line, "--") {
			return "", false
		}
		if m := policy.FindStringSubmatch(line); m != nil {
			return strings.TrimSpace(m[1]), true
		}
	}
	return "", false
}

// captured names the tables that have a capture, as they are written there.
func (t *tree) captured() map[string]bool {
	all := t.goCaptures()
	recording := map[string]bool{}
	isSQL := func(name string) bool { return path.Ext(name) == ".sql" }
	for _, name := range t.names(isSQL) {
		bare := uncommented(t.files[name])
		for _, at := range function.FindAllStringSubmatchIndex(bare, -1) {
			body, _, _ := strings.Cut(bare[at[1]:], bare[at[4]:at[5]])
			if strings.Contains(body, "postbus.record") {
				recording[plain(bare[at[2]:at[3]])] = true
			}
		}
	}
	for _, name := range t.names(isSQL) {
		for _, m := range triggers.FindAllStringSubmatch(uncommented(t.files[name]), -1) {
			if by := plain(m[2]); recording[by] || strings.HasPrefix(by, "postbus.") || strings.Contains(by, "postbus_capture") {
				all[plain(m[1])] = true
			}
		}
	}
	for name, src := range t.files {
		if ext := path.Ext(name); ext == ".md" || ext == ".go" { // they tell of the command, and do not run it
			continue
		}
		for _, m := range commands.FindAllStringSubmatch(src, -1) {
			all[plain(m[1])] = true
		}
	}
	return all
}

// plain is a table's or function's name as Postgres folds it, without the schema that is meant where none is written.
func plain(name string) string {
	return strings.TrimPrefix(strings.ToLower(strings.ReplaceAll(name, `"`, "")), "public.")
}

func lineOf(src string, at int) int { return 1 + strings.Count(src[:at], "\n") }

// uncommented blanks SQL's comments and strings between quotes, so that every byte keeps its place.
func uncommented(src string) string {
	out := []byte(src)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	end := func(from int, mark string) int {
		if i := strings.Index(src[from:], mark); i >= 0 {
			return from + i + len(mark)
		}
		return len(src)
	}
	for i := 0; i < len(src); {
		to := i + 1
		switch {
		case strings.HasPrefix(src[i:], "--"):
			to = end(i, "\n")
		case strings.HasPrefix(src[i:], "/*"):
			to = end(i+2, "*/")
		case src[i] == '\'':
			to = end(i+1, "'")
		default:
			i = to
			continue
		}
		blank(i, to)
		i = to
	}
	return string(out)
}
