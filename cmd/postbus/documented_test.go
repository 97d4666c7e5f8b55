package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/postbus/postbus/internal/snippets"
)

var (
	codeSpan    = regexp.MustCompile("`([^`\n]+)`")
	commandLine = regexp.MustCompile(`^(?:\$ |\./)?postbus ([a-z].*)$`)
	variable    = regexp.MustCompile(`POSTBUS_[A-Z_]+`)
	flagName    = regexp.MustCompile(`(?:^|[\s\[(])--([a-z][a-z-]*)`)
	word        = regexp.MustCompile(`^[a-z][a-z_|-]*$`)
	tableRow    = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (?:`([^`]*)`|-) \\| ")
)

func documents(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, path := range append(paths, "../../README.md") {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[path] = string(raw)
	}
	return out
}

// Each command, flag and variable of the program that a document names is there.
func TestWhatIsDocumentedIsThere(t *testing.T) {
	t.Parallel()
	root, err := newRoot(nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for path, text := range documents(t) {
		for _, name := range variable.FindAllString(text, -1) {
			if name = strings.TrimSuffix(name, "_"); name != "POSTBUS" {
				if err := (environment{name + "="}).check(); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
		}
		for _, line := range commandLines(t, path, text) {
			seen++
			checkLine(t, root, path, line)
		}
	}
	if seen < 20 {
		t.Errorf("only %d commands were found: is this looking at the documents?", seen)
	}
}

// commandLines are the calls of the program in a document, without its name.
func commandLines(t *testing.T, path, text string) []string {
	t.Helper()
	doc, err := snippets.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	add := func(code string) {
		if found := commandLine.FindStringSubmatch(strings.TrimSpace(code)); found != nil {
			lines = append(lines, found[1])
		}
	}
	for _, block := range doc {
		if block.Lang == "sh" || block.Lang == "" {
			for line := range strings.Lines(strings.ReplaceAll(block.Text, "\\\n", " ")) {
				add(line)
			}
		}
	}
	for _, span := range codeSpan.FindAllStringSubmatch(text, -1) {
		add(span[1])
	}
	return lines
}

func checkLine(t *testing.T, root *cobra.Command, path, line string) {
	t.Helper()
	var words []string
	for _, w := range strings.Fields(line) {
		if !word.MatchString(w) {
			break
		}
		words = append(words, w)
	}
	for _, last := range strings.Split(words[len(words)-1], "|") { // a|b|c
		words[len(words)-1] = last
		cmd, rest, err := root.Find(words)
		if err != nil || cmd == root || cmd.HasSubCommands() && len(rest) > 0 {
			t.Errorf("%s: postbus %s: there is no such command (%v)", path, line, err)
			continue
		}
		for _, found := range flagName.FindAllStringSubmatch(line, -1) {
			if flagOf(cmd, found[1]) == nil {
				t.Errorf("%s: postbus %s: %s has no --%s", path, line, cmd.CommandPath(), found[1])
			}
		}
	}
}

func flagOf(cmd *cobra.Command, name string) *pflag.Flag {
	if flag := cmd.Flags().Lookup(name); flag != nil {
		return flag
	}
	return cmd.InheritedFlags().Lookup(name)
}

// The table of settings in docs/operations.md is complete, and its defaults are right.
func TestSettingsAreDocumented(t *testing.T) {
	t.Parallel()
	text := documents(t)["../../docs/operations.md"]
	from := strings.Index(text, "| Setting | Default | Meaning |")
	if from < 0 {
		t.Fatal("the table of settings is gone")
	}
	table, _, _ := strings.Cut(text[from:], "\n\n")
	var want, got []string
	for _, s := range keys() {
		want = append(want, s.key+" "+s.fallback)
	}
	for _, row := range tableRow.FindAllStringSubmatch(table, -1) {
		got = append(got, row[1]+" "+row[2])
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-there +documented)\n%s", diff)
	}
}
