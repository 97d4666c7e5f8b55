package panel

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/postbus/postbus/ops"
)

// graph is what one figure of the overview shows: counts of several series, or the quantiles of one.
type graph struct {
	series    []string
	quantiles bool
}

func graphs() map[string]graph {
	return map[string]graph{
		"events":     {series: []string{"events.recorded", "events.fanned"}},
		"jobs":       {series: []string{"jobs.completed", "jobs.retried", "jobs.discarded", "jobs.cancelled"}},
		"deliveries": {series: []string{"deliveries.delivered", "deliveries.failed", "deliveries.discarded"}},
		"fanout":     {series: []string{"events.fanned"}, quantiles: true},
		"wait":       {series: []string{"jobs.wait"}, quantiles: true},
		"receivers":  {series: []string{"deliveries.delivered"}, quantiles: true},
	}
}

// plotted is what the script draws: moments in seconds since 1970, and for each line a value at each, or null where there is none.
type plotted struct {
	At    []int64 `json:"at"`
	Lines []line  `json:"lines"`
}

type line struct {
	Name   string     `json:"name"`
	Values []*float64 `json:"values"`
}

// spanOf is how far back a graph looks.
func spanOf(text string) time.Duration {
	switch text {
	case "24h":
		return 24 * time.Hour
	case "30d":
		return 30 * 24 * time.Hour
	}
	return time.Hour
}

// series answers the numbers of a graph.
func (p *Panel) series(w http.ResponseWriter, r *http.Request) {
	who, ok := p.cfg.Auth.Who(r)
	if !ok {
		http.Error(w, "nobody is logged in", http.StatusUnauthorized)
		return
	}
	v := &visit{p: p, r: r, who: who, query: r.URL.Query()}
	asked, ok := graphs()[v.query.Get("graph")]
	if !ok {
		http.Error(w, "there is no such graph", http.StatusNotFound)
		return
	}
	out, err := v.plot(asked, spanOf(v.query.Get("span")))
	if err != nil {
		told := p.told(r, err)
		http.Error(w, told.Message, told.Code.Status())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out)
}

func (v *visit) plot(g graph, back time.Duration) (out plotted, err error) {
	until := time.Now().UTC()
	for i, name := range g.series {
		stats, err := do[ops.Stats](v, "stats.series", map[string]any{"series": name, "since": until.Add(-back), "until": until})
		if err != nil {
			return out, err
		}
		if i == 0 {
			for _, point := range stats.Points {
				out.At = append(out.At, point.At.Unix())
			}
		}
		if g.quantiles {
			out.Lines = append(out.Lines, quantiles(stats.Points)...)
			continue
		}
		_, short, _ := strings.Cut(name, ".")
		out.Lines = append(out.Lines, counts(short, stats))
	}
	return out, nil
}

// counts is how often something happened, a minute.
func counts(name string, stats ops.Stats) line {
	l := line{Name: name}
	for _, point := range stats.Points {
		n := float64(point.N) / float64(stats.StepMinutes)
		l.Values = append(l.Values, &n)
	}
	return l
}

func quantiles(points []ops.StatsPoint) []line {
	lines := []line{{Name: "p50"}, {Name: "p95"}, {Name: "p99"}}
	for _, point := range points {
		for i, value := range []*float64{point.P50, point.P95, point.P99} {
			lines[i].Values = append(lines[i].Values, value)
		}
	}
	return lines
}
