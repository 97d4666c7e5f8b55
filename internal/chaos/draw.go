package chaos

import (
	"fmt"
	"html"
	"strings"
	"time"
)

// The picture's measures, in its own units.
const (
	pictureWidth = 1400.0
	pictureLeft  = 70.0
	barHeight    = 14.0
	graphHeight  = 160.0
)

// picture draws time from left to right: the faults as bars, one row a kind, below them how many events were handled in each second
// and the backlog.
func (r Report) picture() string {
	rows, order := map[string]int{}, []string{}
	for _, lane := range lanes {
		for _, f := range r.Faults {
			if _, seen := rows[f.Kind]; !seen && f.Lane == lane {
				rows[f.Kind] = len(order)
				order = append(order, f.Kind)
			}
		}
	}
	whole := max(r.Rested, time.Second)
	x := func(at time.Duration) float64 {
		return pictureLeft + 110 + (pictureWidth-pictureLeft-120)*float64(at)/float64(whole)
	}
	top := 30 + barHeight*float64(len(order))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="11">
<style>text{fill:#555}.process{fill:#c0504d}.network{fill:#4f81bd}.sink{fill:#9bbb59}.server{fill:#8064a2}.lost{opacity:.35}</style>
<rect width="100%%" height="100%%" fill="#fff"/>
<text x="10" y="16">seed %d: faults by kind (pale: until whom it hit had handled the next event), handled events per second and backlog, over %s</text>
`, pictureWidth, top+2*graphHeight+90, r.Seed, whole.Round(time.Second))
	for name, row := range rows {
		fmt.Fprintf(&b, `<text x="10" y="%g">%s</text>`+"\n", 30+barHeight*float64(row)+11, html.EscapeString(name))
	}
	for _, f := range r.Faults {
		y := 30 + barHeight*float64(rows[f.Kind])
		fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%g"><title>%s %s to %s</title></rect>`+"\n",
			f.Lane, x(f.Began), y+2, max(x(f.Ended)-x(f.Began), 1), barHeight-4, html.EscapeString(f.Kind),
			f.Began.Round(time.Millisecond), f.Ended.Round(time.Millisecond))
		if f.Recovered != nil {
			fmt.Fprintf(&b, `<rect class="%s lost" x="%.1f" y="%.1f" width="%.1f" height="%g"/>`+"\n",
				f.Lane, x(f.Ended), y+2, x(f.Ended+*f.Recovered)-x(f.Ended), barHeight-4)
		}
	}
	fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="24" y2="%.1f" stroke="#888" stroke-dasharray="3"/>`+"\n", x(r.Ceased), x(r.Ceased), top+2*graphHeight+60)
	b.WriteString(line("handled/s", "#1a7f37", top+20, r.perSecond(whole), x))
	var left []point
	for _, s := range r.Samples {
		left = append(left, point{s.At, float64(s.sum())})
	}
	b.WriteString(line("backlog", "#b35900", top+graphHeight+50, left, x))
	for at := time.Duration(0); at <= whole; at += tick(whole) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", x(at), top+2*graphHeight+75, at)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

type point struct {
	at time.Duration
	y  float64
}

func (r Report) perSecond(whole time.Duration) []point {
	points := make([]point, int(whole/time.Second)+1)
	for i := range points {
		points[i].at = time.Duration(i)*time.Second + time.Second/2
	}
	for _, at := range r.Handled {
		if i := int(at / time.Second); at >= 0 && i < len(points) {
			points[i].y++
		}
	}
	return points
}

// line draws one graph below the given height, up to its largest value.
func line(name, colour string, top float64, points []point, x func(time.Duration) float64) string {
	most := 1.0
	for _, p := range points {
		most = max(most, p.y)
	}
	var path strings.Builder
	for i, p := range points {
		how := 'L'
		if i == 0 || p.at-points[i-1].at > 3*time.Second { // nobody could look in between
			how = 'M'
		}
		fmt.Fprintf(&path, "%c%.1f %.1f", how, x(p.at), top+graphHeight*(1-p.y/most))
	}
	return fmt.Sprintf(`<text x="10" y="%.1f">%s</text><text x="130" y="%.1f">%.0f</text><text x="130" y="%.1f">0</text><path d="%s" fill="none" stroke="%s" stroke-width="1.3"/>`+"\n",
		top+graphHeight/2, name, top+10, most, top+graphHeight, path.String(), colour)
}

// tick is the distance of the marks of time.
func tick(whole time.Duration) time.Duration {
	for _, d := range []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute} {
		if whole/d <= 15 {
			return d
		}
	}
	return 5 * time.Minute
}
