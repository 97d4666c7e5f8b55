package page

import (
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/postbus/postbus/bench/internal/peer"
)

// Charts are plain SVG on a white ground, so that they read the same in a light and in a dark page.

const (
	width    = 760
	left     = 240
	right    = 90
	line     = 24
	top      = 44
	ink      = "#1d1d1f"
	faint    = "#6b6b70"
	grid     = "#e4e4e7"
	own      = "#d9a400"
	others   = "#8aa0b8"
	fontName = "system-ui, sans-serif"
)

type bar struct {
	label string
	value float64
	own   bool
}

func (w *writer) charts() map[string]string {
	handled := func(n int) []bar {
		return w.bars(func(s string) string { return fmt.Sprintf("peers_handled_%s_%d", s, n) })
	}
	charts := map[string]string{
		"performance-handled-1.svg":  barChart("Handled a second, 1 subscriber", handled(1)),
		"performance-handled-10.svg": barChart("Handled a second, 10 subscribers", handled(10)),
		"performance-latency.svg": barChart("Commit to handler, p99 in ms at half of its own peak",
			w.bars(func(s string) string { return "peers_p99_at_50_" + s })),
		"performance-growth.svg": w.growthChart(),
	}
	return charts
}

func (w *writer) bars(name func(system string) string) []bar {
	var bars []bar
	for _, s := range peer.All() {
		if f, ok := w.figures[name(s.Name)]; ok {
			bars = append(bars, bar{s.Title, f.Value, strings.HasPrefix(s.Name, "postbus")})
		}
	}
	return bars
}

func svg(height int, body string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="%s" font-size="13">
<rect width="100%%" height="100%%" fill="#fff"/>
%s</svg>
`, width, height, width, height, fontName, body)
}

func title(text string) string {
	return fmt.Sprintf(`<text x="16" y="26" font-size="15" font-weight="600" fill="%s">%s</text>`+"\n", ink, html.EscapeString(text))
}

// barChart is a bar a system, from zero.
func barChart(name string, bars []bar) string {
	most := 0.0
	for _, b := range bars {
		most = math.Max(most, b.value)
	}
	var out strings.Builder
	out.WriteString(title(name))
	for i, b := range bars {
		y, colour := top+i*line, others
		if b.own {
			colour = own
		}
		long := 0.0
		if most > 0 {
			long = b.value / most * (width - left - right)
		}
		fmt.Fprintf(&out, `<text x="%d" y="%d" text-anchor="end" fill="%s">%s</text>`+"\n", left-10, y+15, ink, html.EscapeString(b.label))
		fmt.Fprintf(&out, `<rect x="%d" y="%d" width="%.1f" height="%d" rx="2" fill="%s"/>`+"\n", left, y+3, long, line-8, colour)
		fmt.Fprintf(&out, `<text x="%.1f" y="%d" fill="%s">%s</text>`+"\n", left+long+8, y+15, faint, short(b.value))
	}
	return svg(top+len(bars)*line+16, out.String())
}

// growths are the curves of the growth chart, each over its first point.
var growths = []struct {
	what, title string
	sizes       []int
}{
	{"processes", "processes, 1 to 8", []int{1, 2, 4, 8}},
	{"backlog", "backlog, 10 k to 1 M events", []int{10_000, 100_000, 1_000_000}},
	{"bytes", "data, 256 B to 64 KiB", []int{256, 4096, 65536}},
	{"subscribers", "subscribers, 1 to 100", []int{1, 10, 100}},
}

// growthChart shows how the rate changes as one thing grows, plain and wide, as a share of the rate at its first point.
func (w *writer) growthChart() string {
	const panel, high, gap = 340, 150, 40
	var out strings.Builder
	out.WriteString(title("Handled a second as one thing grows, as a share of the first point"))
	for i, g := range growths {
		x0, y0 := 30+(i%2)*(panel+gap/2), top+20+(i/2)*(high+gap+20)
		fmt.Fprintf(&out, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", x0, y0-8, ink, g.title)
		most := 1.0
		series := map[string][]float64{}
		for _, kind := range []string{"plain", "wide"} {
			for _, size := range g.sizes {
				f, ok := w.figures[fmt.Sprintf("growth_%s_%s_%d", kind, g.what, size)]
				first := w.figures[fmt.Sprintf("growth_%s_%s_%d", kind, g.what, g.sizes[0])].Value
				if !ok || first == 0 {
					continue
				}
				series[kind] = append(series[kind], f.Value/first)
				most = math.Max(most, f.Value/first)
			}
		}
		fmt.Fprintf(&out, `<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="%s"/>`+"\n", x0, y0, panel, high, grid)
		one := float64(y0) + high - 1/most*(high-20)
		fmt.Fprintf(&out, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="%s" stroke-dasharray="3 3"/>`+"\n", x0, x0+panel, one, one, grid)
		for _, kind := range []string{"plain", "wide"} {
			colour := others
			if kind == "wide" {
				colour = own
			}
			var points []string
			for j, v := range series[kind] {
				x := float64(x0) + 20 + float64(j)*(panel-60)/float64(max(len(g.sizes)-1, 1))
				y := float64(y0) + high - v/most*(high-20)
				points = append(points, fmt.Sprintf("%.1f,%.1f", x, y))
				fmt.Fprintf(&out, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x, y, colour)
			}
			fmt.Fprintf(&out, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), colour)
		}
	}
	y := top + 2*(high+gap+20) + 8
	fmt.Fprintf(&out, `<rect x="30" y="%d" width="12" height="12" fill="%s"/><text x="48" y="%d" fill="%s">plain</text>`+"\n", y, others, y+11, ink)
	fmt.Fprintf(&out, `<rect x="110" y="%d" width="12" height="12" fill="%s"/><text x="128" y="%d" fill="%s">wide</text>`+"\n", y, own, y+11, ink)
	return svg(y+28, out.String())
}
