package page

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postbus/postbus/bench/internal/figure"
)

// What the run has is on the page; what it has not is a dash, and nothing is a formatting error. The charts are XML.
func TestPageSaysWhatTheRunHas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "images"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := Run{When: "today", Machine: "a machine", Rounds: 3, Figures: []figure.Figure{
		{Name: "peers_handled_postbus_wide_10", Value: 123456, Values: []float64{120000, 123456, 130000}, Sides: map[string][]float64{
			"missing": {0, 0, 0}, "again": {7, 9, 8}, "wal": {100, 100, 100},
		}},
		{Name: "peers_wide_to_watermill_10", Value: 2.5, Verdict: figure.Miss, Values: []float64{2.4, 2.5, 2.6}},
		{Name: "growth_wide_processes_1", Value: 1000, Values: []float64{1000}},
		{Name: "growth_wide_processes_2", Value: 1500, Values: []float64{1500}},
	}}
	file := filepath.Join(dir, "performance.md")
	if err := Write(run, file); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, want := range []string{
		"| Postbus, wide jobs | – | – | 123k (120k–130k) | – |", "0 missing, 8 again", "2.5 (2.4–2.6)", "**missed**", "| 2 processes | – | 1500 |",
		"wide with ten 11.8 MiB for 123k",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "%!") || strings.Contains(text, "NaN") {
		t.Errorf("the page holds a formatting error:\n%s", text)
	}
	charts, err := filepath.Glob(filepath.Join(dir, "images", "*.svg"))
	if err != nil || len(charts) != 4 {
		t.Fatalf("charts %v, %v", charts, err)
	}
	for _, chart := range charts {
		raw, err := os.ReadFile(chart)
		if err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(strings.NewReader(string(raw))); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", chart, err)
			}
		}
	}
}
