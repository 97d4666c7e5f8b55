package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/postbus/postbus/internal/measure"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
)

// metricRow is a row of the table of metrics: name, type, unit, labels.
var metricRow = regexp.MustCompile("(?m)^\\| `(postbus_[a-z_]+)` \\| ([a-z]+) \\| ([^|]+) \\| ([^|]+) \\| ")

// scraped reads an answer of /metrics.
func scraped(t testing.TB, body io.Reader) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// shape says of a metric what the table does: its type and labels.
func shape(f *dto.MetricFamily) string {
	var labels []string
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if !slices.Contains(labels, l.GetName()) {
				labels = append(labels, l.GetName())
			}
		}
	}
	slices.Sort(labels)
	return strings.ToLower(f.GetType().String()) + " " + strings.Join(labels, ", ")
}

// What /metrics shows when everything has happened and everything stands is what the table in docs/operations.md names: no
// metric more or less, with these types and labels.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	shown, err := newMetrics(testdb.Log())
	if err != nil {
		t.Fatal(err)
	}
	defer shown.stop()
	m, err := measure.New(testdb.New(t), measure.Config{
		Meter: shown.provider, Deaf: func() bool { return false }, Log: testdb.Log(),
		Standing: func(context.Context) (measure.Standing, error) {
			return measure.Standing{
				Jobs:       []measure.JobsStanding{{Kind: "index", State: "running", N: 1}},
				Deliveries: map[string]int64{"pending": 1}, Alerts: map[string]int64{"events_poisoned": 1},
			}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer m.Stop(context.Background())
	m.Passed(measure.Pass{Claimed: 1, Fanned: 1, Jobs: 1, Recorded: []time.Time{time.Now()}, Lags: []time.Duration{time.Second}})
	m.JobEnded("index", measure.Completed, time.Second, time.Second)
	m.DeliveryEnded(measure.Delivered, time.Second)

	answer := httptest.NewRecorder()
	shown.handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	got, runtime := map[string]string{}, 0
	for name, family := range scraped(t, answer.Body) {
		if strings.HasPrefix(name, "postbus_") {
			got[name] = shape(family)
		} else if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			runtime++
		} else {
			t.Errorf("/metrics has %s, which no document names", name)
		}
	}
	doc, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, row := range metricRow.FindAllStringSubmatch(string(doc), -1) {
		want[row[1]] = row[2] + " " + strings.Trim(row[4], "–")
		if unit := strings.TrimSpace(row[3]); (unit == "s") != strings.HasSuffix(row[1], "_seconds") {
			t.Errorf("%s has the unit %q", row[1], unit)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-documented +shown):\n%s", diff)
	}
	if runtime < 20 {
		t.Errorf("%d metrics of the Go runtime and the process", runtime)
	}
}

// A process that serves shows what it did to whoever asks, without a token, and no owner's name.
func TestMetricsOfServe(t *testing.T) {
	t.Parallel()
	database := testdb.EmptyURL(t)
	s := serve(t, database)
	s.eventually(t, "/readyz", http.StatusOK, "ready")
	pool, err := pgxpool.New(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	_, err = pool.Exec(t.Context(), `select postbus.declare_type('note.changed', 'x', 'note id')`)
	if err == nil {
		_, err = pool.Exec(t.Context(), `select postbus.record('owner-of-secrets', 'note.changed', 'subject-of-secrets', '{}') from generate_series(1, 3)`)
	}
	if err != nil {
		t.Fatal(err)
	}
	wait.Eventually(t, 30*time.Second, func() (bool, string) {
		res, err := http.Get(s.url + "/metrics")
		if err != nil {
			return false, err.Error()
		}
		defer func() { _ = res.Body.Close() }()
		raw, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			return false, res.Status
		}
		if strings.Contains(string(raw), "of-secrets") {
			t.Errorf("/metrics names an owner or a subject: %s", raw)
		}
		families := scraped(t, strings.NewReader(string(raw)))
		recorded := families["postbus_events_recorded_total"].GetMetric()
		return len(recorded) == 1 && recorded[0].GetCounter().GetValue() == 3 && families["postbus_events_backlog"] != nil &&
			families["postbus_relay_lag_seconds"] != nil, string(raw)
	})
	s.end(t)
	var kept int64
	if err := pool.QueryRow(t.Context(), `select sum(n)::bigint from postbus.stats where series = 'events.recorded'`).Scan(&kept); err != nil || kept != 3 {
		t.Errorf("%d events are counted after the end, %v", kept, err)
	}
}
