package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/postbus/postbus/bench/internal/figure"
	"github.com/postbus/postbus/bench/internal/rig"
	"github.com/postbus/postbus/internal/seed"
	"github.com/postbus/postbus/ops"
	"github.com/postbus/postbus/panel"
)

// views are the panel's views, each a figure and, where it is live, one of its parts. What they are asked for is what package seed
// asks the operations behind them.
func views() []viewCase {
	return []viewCase{
		{name: "overview", route: "overview", fixed: []string{"", "range=1h", "range=24h", "range=30d"}},
		{name: "series_1h", route: "series", fixed: graphsOver("1h")},
		{name: "series_24h", route: "series", fixed: graphsOver("24h")},
		{name: "series_30d", route: "series", fixed: graphsOver("30d")},
		{name: "jobs", route: "jobs", operation: "tasks.list"},
		{name: "job", route: "jobs", operation: "tasks.get", id: "job"},
		{name: "acts", route: "acts", operation: "tasks.bulk_acts"},
		{name: "periodics", route: "periodics", fixed: []string{""}},
		{name: "queues", route: "queues", fixed: []string{""}},
		{name: "events", route: "events", operation: "events.list"},
		{name: "event", route: "events", operation: "events.get", id: "event"},
		{name: "replays", route: "replays", operation: "events.replays"},
		{name: "webhooks", route: "webhooks", operation: "webhooks.list"},
		{name: "endpoint", route: "webhooks", operation: "webhooks.get", id: "endpoint"},
		{name: "delivery", route: "webhooks", operation: "webhooks.delivery", id: "delivery"},
		{name: "workers", route: "workers", fixed: []string{""}},
		{name: "audit", route: "audit", operation: "audit.list"},
		{name: "settings", route: "settings", fixed: []string{""}},
		{name: "system", route: "system", fixed: []string{""}},
	}
}

// viewCase is a view with the queries that it is asked for: fixed ones, or one for each input of an operation.
type viewCase struct {
	name, route, operation string
	id                     string // what the URL calls the operation's id
	fixed                  []string
}

func (c viewCase) figures() []string {
	if c.route == "series" {
		return []string{"view_" + c.name}
	}
	return []string{"view_" + c.name, "view_" + c.name + "_parts"}
}

func graphsOver(span string) (queries []string) {
	for _, graph := range []string{"events", "jobs", "deliveries", "fanout", "wait", "receivers"} {
		queries = append(queries, "graph="+graph+"&span="+span)
	}
	return queries
}

// queries are what the view is asked for, by what is special about it.
func (c viewCase) queries(calls map[string][]seed.Call) (map[string]string, error) {
	out := map[string]string{}
	for _, query := range c.fixed {
		out[query] = query
	}
	for _, call := range calls[c.operation] {
		query, err := queryOf(call.Input)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", c.operation, call.Input, err)
		}
		if c.id != "" {
			query = url.Values{c.id: query["id"]}
		}
		out[call.Name] = query.Encode()
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("package seed has no input for %s", c.operation)
	}
	return out, nil
}

// queryOf is an operation's input as the panel has it in a URL.
func queryOf(input json.RawMessage) (url.Values, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(input, &fields); err != nil {
		return nil, err
	}
	query := url.Values{}
	for name, raw := range fields {
		var text string
		var list []string
		switch {
		case json.Unmarshal(raw, &text) == nil:
			query.Set(name, text)
		case json.Unmarshal(raw, &list) == nil:
			query[name] = list
		default:
			query.Set(name, string(raw))
		}
	}
	return query, nil
}

// onlooker looks at a panel in this process, logged in.
type onlooker struct {
	panel  http.Handler
	cookie string
	seen   map[string]*looks
}

// looks is what one figure's requests took.
type looks struct {
	took, bytes []float64
	of          map[string][]float64 // what took it, by what was special about the query
}

func newOnlooker(ctx context.Context, db *rig.Database, registry *ops.Registry) (*onlooker, error) {
	log := slog.New(slog.DiscardHandler)
	handler, err := panel.New(panel.Config{
		Registry: registry, Auth: panel.NewSessions(db.Pool, ops.NewAuthenticator(db.Pool, log), log), Version: "bench", Log: log,
	})
	if err != nil {
		return nil, err
	}
	link, err := panel.LoginLink(ctx, registry, "onlooker")
	if err != nil {
		return nil, err
	}
	_, form, _ := strings.Cut(link, "?")
	login := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/panel/login", strings.NewReader(form))
	login.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, login)
	cookies := answer.Result().Cookies()
	if answer.Code != http.StatusSeeOther || len(cookies) != 1 {
		return nil, fmt.Errorf("the panel's login answers %d and %d cookies: %.500s", answer.Code, len(cookies), answer.Body)
	}
	return &onlooker{panel: handler, cookie: cookies[0].Name + "=" + cookies[0].Value, seen: map[string]*looks{}}, nil
}

// problemMark is how a page begins to tell that a list could not be read: the page itself is shown.
const problemMark = `<div class="problem" role="alert">`

// look gets an address, and fails where it is not shown as a whole.
func (o *onlooker) look(ctx context.Context, name, special, address string) (body string, err error) {
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/panel/"+address, nil)
	request.Header.Set("Cookie", o.cookie)
	answer := httptest.NewRecorder()
	began := time.Now()
	o.panel.ServeHTTP(answer, request)
	took := time.Since(began).Seconds() * 1000
	body = answer.Body.String()
	if answer.Code != http.StatusOK {
		return "", fmt.Errorf("%s: GET %s answers %d: %.500s", name, address, answer.Code, body)
	}
	if at := strings.Index(body, problemMark); at >= 0 {
		return "", fmt.Errorf("%s: GET %s shows a problem: %.500s", name, address, body[at:])
	}
	if o.seen[name] == nil {
		o.seen[name] = &looks{of: map[string][]float64{}}
	}
	seen := o.seen[name]
	seen.took, seen.bytes = append(seen.took, took), append(seen.bytes, float64(len(body)))
	seen.of[special] = append(seen.of[special], took)
	return body, nil
}

// parts are what a page gets again when something changes.
var parts = regexp.MustCompile(`hx-get="([^"]*[?&;]part=[^"]*)"`)

// lookAll gets a view and its parts with every query.
func (o *onlooker) lookAll(ctx context.Context, c viewCase, queries map[string]string) error {
	names := c.figures()
	for special, query := range queries {
		body, err := o.look(ctx, names[0], special, c.route+"?"+query)
		if err != nil {
			return err
		}
		if len(names) == 1 {
			continue
		}
		for _, part := range parts.FindAllStringSubmatch(body, -1) {
			address := strings.TrimPrefix(html.UnescapeString(part[1]), "./")
			if _, err := o.look(ctx, names[1], special, address); err != nil {
				return err
			}
		}
	}
	return nil
}

// viewAll gets every view with every kind of query and other values each time, and judges the p95 of the server's time.
func (b *bench) viewAll(ctx context.Context, db *rig.Database, registry *ops.Registry, size int) (figures []figure.Figure, err error) {
	o, err := newOnlooker(ctx, db, registry)
	if err != nil {
		return nil, err
	}
	for variation := range fewestReads {
		calls, err := seed.Calls(ctx, db.Pool, variation)
		if err != nil {
			return nil, err
		}
		for _, c := range views() {
			if seen := o.seen[c.figures()[0]]; variation > 5 && seen != nil && len(seen.took) >= fewestReads {
				continue // lists have many queries
			}
			queries, err := c.queries(calls)
			if err == nil {
				err = o.lookAll(ctx, c, queries)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	for _, c := range views() {
		for _, name := range c.figures() {
			if o.seen[name] == nil {
				return nil, errors.New("no part was seen of " + c.name)
			}
			figures = append(figures, b.viewFigure(name, o.seen[name], size))
		}
	}
	return figures, nil
}

func (b *bench) viewFigure(name string, seen *looks, size int) figure.Figure {
	p50, p95, p99 := figure.Percentile(seen.took, 50), figure.Percentile(seen.took, 95), figure.Percentile(seen.took, 99)
	least, most, bytes := slices.Min(seen.took), slices.Max(seen.took), figure.Percentile(seen.bytes, 50)
	slowest, its := "", 0.0
	for special, took := range seen.of {
		if median := figure.Percentile(took, 50); median > its {
			slowest, its = special, median
		}
	}
	b.say("%-24s least %6.1f  p50 %6.1f  p95 %6.1f  p99 %6.1f  most %6.1f ms, %6.0f bytes, %d requests; slowest: %q, p50 %.1f ms",
		name, least, p50, p95, p99, most, bytes, len(seen.took), slowest, its)
	return figure.Of(figure.Measured{
		Name: name, Unit: "ms", Target: figure.AtMost(mostRead), Values: []float64{p95},
		Sides:  map[string][]float64{"least": {least}, "p50": {p50}, "p95": {p95}, "p99": {p99}, "bytes": {bytes}},
		Note:   fmt.Sprintf("p95 of %d requests on %d jobs and %d events; the slowest query is %q, p50 %.1f ms", len(seen.took), size, size, slowest, its),
		Enough: size >= 10_000_000,
	})
}
