package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/peer"
)

// Run is what the page is about.
type Run struct {
	When, Machine, Load string
	Rounds              int
	Quick               bool
	Figures             []figure.Figure
}

//go:embed performance.md.tmpl
var text string

// Write writes the page, and its charts into images beside it.
func Write(r Run, file string) error {
	w := &writer{run: r, figures: map[string]figure.Figure{}}
	for _, f := range r.Figures {
		w.figures[f.Name] = f
	}
	parsed, err := template.New("page").Funcs(template.FuncMap{
		"value": w.value, "range_": w.spread, "side": w.side, "ratio": w.ratio, "verdict": w.verdict, "times": w.times, "has": w.has,
		"share": w.share, "systems": peer.All, "list": func(items ...any) []any { return items }, "name": fmt.Sprintf,
	}).Parse(text)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, r); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	images := filepath.Join(filepath.Dir(file), "images")
	for name, svg := range w.charts() {
		if err := os.WriteFile(filepath.Join(images, name), []byte(svg), 0o644); err != nil {
			return fmt.Errorf("page: %w", err)
		}
	}
	return nil
}

type writer struct {
	run     Run
	figures map[string]figure.Figure
}

func (w *writer) has(name string) bool { _, ok := w.figures[name]; return ok }

// value is a figure's median as the page shows it, "–" where the run had none.
func (w *writer) value(name string) string {
	f, ok := w.figures[name]
	if !ok {
		return "–"
	}
	return short(f.Value)
}

// spread is what was seen, least to most.
func (w *writer) spread(name string) string {
	f, ok := w.figures[name]
	if !ok || len(f.Values) < 2 {
		return ""
	}
	return short(minOf(f.Values)) + "–" + short(maxOf(f.Values))
}

// side is the median of what was kept beside a figure.
func (w *writer) side(name, side string) string {
	values := w.figures[name].Sides[side]
	if len(values) == 0 {
		return "–"
	}
	return short(figure.Median(values))
}

// share is a figure over another, in per cent.
func (w *writer) share(of, over string) string {
	if !w.has(of) || !w.has(over) {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*w.figures[of].Value/w.figures[over].Value)
}

// ratio is Postbus's figure over another system's.
func (w *writer) ratio(over, under string) string {
	if !w.has(over) || !w.has(under) || w.figures[under].Value == 0 {
		return "–"
	}
	return figure.Number(w.figures[over].Value/w.figures[under].Value) + " ×"
}

// times is the product of a figure and what was kept beside it, divided by a million bytes.
func (w *writer) times(name, side string) string {
	values := w.figures[name].Sides[side]
	if len(values) == 0 {
		return "–"
	}
	return figure.Number(w.figures[name].Value * figure.Median(values) / (1 << 20))
}

func (w *writer) verdict(name string) string {
	f, ok := w.figures[name]
	switch {
	case !ok:
		return "not measured"
	case f.Verdict == figure.OK && f.Close:
		return "within the spread"
	case f.Verdict == figure.OK:
		return "reached"
	case f.Verdict == figure.Miss:
		return "**missed**"
	case f.Verdict == figure.Smoke:
		return "too few rounds to say"
	}
	return ""
}

// short is a number with at most three digits that say something, thousands as k.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return trimmed(v/1e6) + "M"
	case v >= 1e4:
		return trimmed(v/1e3) + "k"
	}
	return trimmed(v)
}

func trimmed(v float64) string {
	text := figure.Number(v)
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text
}

func minOf(values []float64) float64 {
	least := values[0]
	for _, v := range values {
		least = min(least, v)
	}
	return least
}

func maxOf(values []float64) float64 {
	most := values[0]
	for _, v := range values {
		most = max(most, v)
	}
	return most
}
