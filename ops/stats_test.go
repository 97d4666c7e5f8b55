package ops

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/internal/measure"
)

// seedStats writes minutes of a series, which begin so many minutes ago: n, and as many latencies of up to 20 ms.
func seedStats(t testing.TB, r *Registry, series, label string, minutesAgo, minutes, n int) {
	t.Helper()
	execSQL(t, r, `insert into postbus.stats
		select $1, $2, date_trunc('minute', now()) - make_interval(mins => $3::int - m), $4::int, 15 * $4::int, 0, 0, 0, 0, $4::int, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
		from generate_series(0, $5::int - 1) m`, series, label, minutesAgo, n, minutes)
}

// The operation knows the series that are counted, and no other.
func TestStatsSeriesAreThoseCounted(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	o, _ := r.Get("stats.series")
	var offered []string
	for _, name := range o.Input.Properties["series"].Enum {
		offered = append(offered, name.(string))
	}
	if diff := cmp.Diff(measure.Series(), offered); diff != "" {
		t.Errorf("(-counted +offered):\n%s", diff)
	}
	refused(t, r, operator, "stats.series", `{"series":"jobs"}`, Invalid)
}

// By default the last hour is answered minute by minute, gaps as zeros.
func TestStatsOfTheLastHour(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	seedStats(t, r, "jobs.completed", "", 30, 10, 4)
	seedStats(t, r, "jobs.completed", "work", 30, 10, 3)
	seedStats(t, r, "jobs.completed", "", 3*60, 10, 1000)
	for label, n := range map[string]int64{"": 4, "work": 3, "none": 0} {
		got := answerOf[Stats](t, r, operator, "stats.series", fmt.Sprintf(`{"series":"jobs.completed","label":%q}`, label))
		if points := len(got.Points); points < 60 || points > 61 || got.StepMinutes != 1 || got.Total != 10*n {
			t.Errorf("label %q: %d points of %d minutes, total %d", label, points, got.StepMinutes, got.Total)
		}
		full := 0
		for i, p := range got.Points {
			if i > 0 && p.At.Sub(got.Points[i-1].At) != time.Minute {
				t.Errorf("a gap before %s", p.At)
			}
			if p.N == 0 {
				if p.Mean != nil || p.P50 != nil {
					t.Errorf("nothing has a latency: %+v", p)
				}
				continue
			}
			full++
			if p.N != n || *p.Mean != 15 || *p.P50 != 15 || *p.P95 != 19.5 || *p.P99 != 19.9 {
				t.Errorf("%+v: mean %v, quantiles %v %v %v", p, *p.Mean, *p.P50, *p.P95, *p.P99)
			}
		}
		if n > 0 && full != 10 {
			t.Errorf("label %q: %d points have something, want 10", label, full)
		}
	}
}

// A window is answered in whole steps, at most 745 of them; a point adds up its minutes.
func TestStatsStepFollowsTheWindow(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	seedStats(t, r, "events.recorded", "", 30*24*60-120, 2*24*60, 2)
	now := time.Now().UTC()
	ago := func(d time.Duration) string { return now.Add(-d).Format(time.RFC3339Nano) }
	for _, c := range []struct {
		since, until string
		step         int
		total        int64
	}{
		{ago(30 * 24 * time.Hour), "", 60, 2 * 2 * 24 * 60},
		{ago(30 * 24 * time.Hour), ago(29 * 24 * time.Hour), 2, 2 * (24*60 - 120)},
		{ago(12 * time.Hour), "", 1, 0},
		{ago(24 * time.Hour), "", 2, 0},
		{ago(7 * 24 * time.Hour), "", 15, 0},
	} {
		input := fmt.Sprintf(`{"series":"events.recorded","since":%q`, c.since)
		if c.until != "" {
			input += fmt.Sprintf(`,"until":%q`, c.until)
		}
		got := answerOf[Stats](t, r, operator, "stats.series", input+"}")
		if off := got.Total - c.total; got.StepMinutes != c.step || len(got.Points) > maxPoints+1 || off < 0 && off < -8 || off > 8 {
			t.Errorf("%s: %d points of %d minutes, total %d; want steps of %d, total about %d", input, len(got.Points), got.StepMinutes, got.Total, c.step, c.total)
		}
		for _, p := range got.Points {
			if p.At.Unix()%int64(60*c.step) != 0 {
				t.Errorf("%s: a point at %s", input, p.At)
				break
			}
		}
	}
	day := answerOf[Stats](t, r, operator, "stats.series", fmt.Sprintf(`{"series":"events.recorded","since":%q,"step_minutes":1440}`, ago(30*24*time.Hour)))
	if !slices.ContainsFunc(day.Points, func(p StatsPoint) bool { return p.N == 2*24*60 }) {
		t.Errorf("no day has all of its minutes: %+v", day.Points)
	}
}

func TestStatsRefusesWindows(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	now := time.Now().UTC()
	for _, more := range []string{
		`"since":"` + now.Add(time.Hour).Format(time.RFC3339) + `"`,
		`"since":"` + now.Add(-32*24*time.Hour).Format(time.RFC3339) + `"`,
		`"until":"0000-01-01T00:00:00Z"`, `"since":"0000-01-01T00:00:00Z"`, `"since":"9999-12-31T23:59:59Z"`,
		`"since":"` + now.Add(-24*time.Hour).Format(time.RFC3339) + `","step_minutes":1`,
		`"step_minutes":1441`, `"step_minutes":-1`, `"label":"a\u0000"`,
	} {
		refused(t, r, operator, "stats.series", `{"series":"events.recorded",`+more+`}`, Invalid)
	}
	answerOf[Stats](t, r, operator, "stats.series", `{"series":"events.recorded","until":"9999-12-31T23:59:59Z"}`)
}

// Thirty days are a range of the primary key, however much else there is.
func TestStatsReadARange(t *testing.T) {
	t.Parallel()
	r, _ := fixture(t)
	for _, label := range []string{"", "a"} {
		seedStats(t, r, "jobs.completed", label, 30*24*60, 30*24*60, 1)
	}
	execSQL(t, r, `analyze postbus.stats`)
	var plan string
	err := r.deps.Pool.QueryRow(t.Context(), `explain (format json) select sum(n) from postbus.stats
		where series = 'jobs.completed' and label = 'a' and minute >= now() - interval '1 day' and minute < now()`).Scan(&plan)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(plan, "stats_pkey") || strings.Contains(plan, "Seq Scan") {
		t.Errorf("the plan is %s", plan)
	}
	began := time.Now()
	got := answerOf[Stats](t, r, operator, "stats.series", fmt.Sprintf(`{"series":"jobs.completed","since":%q}`, began.Add(-30*24*time.Hour).UTC().Format(time.RFC3339)))
	t.Logf("30 days in %d points took %s", len(got.Points), time.Since(began))
	if got.Total < 30*24*60-60 {
		t.Errorf("total %d", got.Total)
	}
}
