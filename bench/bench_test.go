package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/bench/internal/peer"
)

// One tiny figure through everything: a private Postgres, both sides, the printed line and the file.
func TestOneFigure(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "kept", "run.json")
	var out, progress bytes.Buffer
	if err := run(t.Context(), []string{"-quick", "-pairs", "1", "-only", "^writer_tax_8$", "-out", file}, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	line := regexp.MustCompile(`^writer_tax_8 \d+\.\d\d ratio >=0\.95 smoke\n$`)
	if !line.MatchString(out.String()) {
		t.Errorf("printed %q, want %s", &out, line)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var kept report
	if err := json.Unmarshal(raw, &kept); err != nil {
		t.Fatal(err)
	}
	if len(kept.Figures) != 1 || kept.Machine.Postgres == "" || kept.Machine.Cores == 0 || !kept.Quick || kept.Pairs != 1 {
		t.Fatalf("kept %s", raw)
	}
	f := kept.Figures[0]
	if want := []float64{f.Sides["event"][0] / f.Sides["plain"][0]}; !cmp.Equal(want, f.Values) || f.Value != want[0] {
		t.Errorf("kept %v as %v, want the event's rate over the plain one's, %v", f.Values, f.Value, want)
	}
}

func TestOnlyIsHeldAgainstTheFiguresNames(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string][]string{
		"^fanout_1$":     {"fanout"},
		"writer_tax_8":   {"writer_tax_8"},
		"river_direct_1": {"writer_tax_bus_1"},
		"^handler":       {"handler_idle", "handler_200eps"},
		"nothing":        nil,
	} {
		var names []string
		for _, g := range choose(groups(), regexp.MustCompile(pattern)) {
			names = append(names, g.name)
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("-only %s (-want +got):\n%s", pattern, diff)
		}
	}
	err := run(t.Context(), []string{"-only", "nothing"}, &bytes.Buffer{}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "matches no figure") {
		t.Errorf("a pattern that matches nothing gives %v", err)
	}
}

// The README explains every figure.
func TestReadmeNamesEveryFigure(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	number := regexp.MustCompile(`_(1|2|3|4|8|10|30|32|100|256|4096|65536|10000|100000|1000000)$`)
	var systems []string
	for _, s := range peer.All() {
		systems = append(systems, s.Name)
	}
	slices.Sort(systems)
	slices.Reverse(systems) // the longest of those that begin alike first
	system := regexp.MustCompile(`^(peers_.*)_(` + strings.Join(systems, "|") + `)(_N)?$`)
	load := regexp.MustCompile(`_at_\d+_`)
	for _, g := range groups() {
		for _, name := range g.figures {
			short := load.ReplaceAllString(system.ReplaceAllString(number.ReplaceAllString(name, "_N"), "${1}_SYSTEM$3"), "_at_LOAD_")
			if strings.Contains(name, "_to_") { // between systems
				short = number.ReplaceAllString(name, "_N")
			}
			short = strings.NewReplacer("growth_plain", "growth_KIND", "growth_wide", "growth_KIND").Replace(short)
			if !strings.Contains(string(readme), fmt.Sprintf("`%s`", short)) &&
				!strings.Contains(string(readme), fmt.Sprintf("`%s`", name)) {
				t.Errorf("README.md does not explain %s", name)
			}
		}
	}
}
