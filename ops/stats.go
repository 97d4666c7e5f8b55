package ops

import (
	"context"
	"time"

	"github.com/postbus/postbus/internal/measure"
)

const (
	// statsReach is how far back stats.series looks: minutes are kept for 30 days, and a caller's clock may be another.
	statsReach = 31 * 24 * time.Hour
	// maxPoints is how many points a series is answered in, hours at the longest: and one more where the window cuts the first and
	// the last.
	maxPoints = 31 * 24
)

// StatsOf asks for one series.
type StatsOf struct {
	Series string `json:"series" doc:"What to show" enum:"events.recorded,events.fanned,relay.passes,jobs.completed,jobs.retried,jobs.snoozed,jobs.discarded,jobs.cancelled,jobs.wait,deliveries.delivered,deliveries.failed,deliveries.discarded"`
	Label  string `json:"label,omitempty" doc:"For the outcomes of jobs: only this kind. All kinds when left out" maxLength:"200"`
	Window
	StepMinutes int `json:"step_minutes,omitempty" doc:"The length of a point; when left out the shortest of 1, 2, 5, 10, 15, 30 and 60 that makes at most 744 points" minimum:"0" maximum:"1440"`
}

// Stats are a series in points, all of one length, without gaps.
type Stats struct {
	Series      string       `json:"series"`
	Label       string       `json:"label,omitempty"`
	StepMinutes int          `json:"step_minutes" doc:"The length of a point"`
	Total       int64        `json:"total" doc:"How many there were in all points"`
	Points      []StatsPoint `json:"points" doc:"In order. Those in which nothing happened have n 0 and no latencies"`
}

// StatsPoint is what happened in one step. Latencies are in milliseconds, quantiles are estimates within a bucket.
type StatsPoint struct {
	At   time.Time `json:"at" doc:"When the step begins; steps are aligned to 1970 in UTC"`
	N    int64     `json:"n"`
	Mean *float64  `json:"mean_ms,omitempty"`
	P50  *float64  `json:"p50_ms,omitempty"`
	P95  *float64  `json:"p95_ms,omitempty"`
	P99  *float64  `json:"p99_ms,omitempty"`
}

func declareStats(r *Registry) error {
	return add(r, Op[StatsOf, Stats]{
		Name: "stats.series", Summary: "Show how often something happened and how long it took, over up to 30 days", Access: Read, Global: true,
		Run: func(ctx context.Context, c *Call, in StatsOf) (Stats, error) {
			query, err := in.query(time.Now().UTC())
			if err != nil {
				return Stats{}, err
			}
			slots, err := measure.Read(ctx, c.Pool, query)
			if err != nil {
				return Stats{}, err
			}
			return statsOf(query, slots), nil
		},
	})
}

// query settles the window and the step. The window grows to whole steps: its first and last point would tell less than they seem
// to otherwise.
func (s StatsOf) query(now time.Time) (measure.Query, error) {
	q := measure.Query{Series: s.Series, Label: s.Label, Since: at(s.Since), Until: at(s.Until), Step: s.StepMinutes}
	if s.Until == nil || q.Until.After(now) {
		q.Until = now
	}
	if s.Since == nil {
		q.Since = q.Until.Add(-time.Hour)
	}
	window := q.Until.Sub(q.Since)
	switch {
	case window <= 0:
		return q, fault("since", "it is not before until, or yet to come")
	case q.Since.Before(now.Add(-statsReach)):
		return q, fault("since", "only the last 30 days are kept: begin later")
	}
	if q.Step == 0 {
		q.Step = stepFor(window)
	}
	step := time.Duration(q.Step) * time.Minute
	if window > maxPoints*step {
		return q, fault("step_minutes", "the window would have more than %d points: leave it out, or make it %d or more", maxPoints, stepFor(window))
	}
	q.Since = align(q.Since, step)
	if until := align(q.Until, step); until.Before(q.Until) {
		q.Until = until.Add(step)
	}
	return q, nil
}

// stepFor is the shortest step in minutes that divides an hour and makes no more than maxPoints.
func stepFor(window time.Duration) int {
	for _, minutes := range []int{1, 2, 5, 10, 15, 30} {
		if window <= maxPoints*time.Duration(minutes)*time.Minute {
			return minutes
		}
	}
	return 60
}

// align is the last multiple of step since 1970.
func align(t time.Time, step time.Duration) time.Time {
	seconds := int64(step / time.Second)
	return time.Unix(t.Unix()-((t.Unix()%seconds)+seconds)%seconds, 0).UTC()
}

// statsOf fills the gaps.
func statsOf(q measure.Query, slots []measure.Slot) Stats {
	out := Stats{Series: q.Series, Label: q.Label, StepMinutes: q.Step, Points: []StatsPoint{}}
	step := time.Duration(q.Step) * time.Minute
	for at := q.Since; at.Before(q.Until); at = at.Add(step) {
		point := StatsPoint{At: at}
		if len(slots) > 0 && !slots[0].At.After(at) {
			point = pointOf(slots[0])
			slots = slots[1:]
		}
		out.Total += point.N
		out.Points = append(out.Points, point)
	}
	return out
}

func pointOf(s measure.Slot) StatsPoint {
	p := StatsPoint{At: s.At, N: s.N}
	if s.Latencies.Count() == 0 {
		return p
	}
	mean := s.Latencies.MeanMS()
	p50, p95, p99 := s.Latencies.QuantileMS(0.5), s.Latencies.QuantileMS(0.95), s.Latencies.QuantileMS(0.99)
	p.Mean, p.P50, p.P95, p.P99 = &mean, &p50, &p95, &p99
	return p
}
