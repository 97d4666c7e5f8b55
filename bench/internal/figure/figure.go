package figure

import (
	"fmt"
	"math"
	"strconv"
)

// Verdict says what came of a figure's target.
type Verdict string

const (
	// OK figures reach their target, or come so close that the spread covers it.
	OK Verdict = "ok"
	// Miss figures fall short of their target even at the better end of their interval.
	Miss Verdict = "miss"
	// Smoke figures were run and cannot be judged: too few values.
	Smoke Verdict = "smoke"
	// Info figures have no target.
	Info Verdict = "info"
)

// Target is what a figure should reach. The zero value is none.
type Target struct {
	op    string
	bound float64
}

// AtLeast is reached by bound and more.
func AtLeast(bound float64) Target { return Target{">=", bound} }

// AtMost is reached by bound and less.
func AtMost(bound float64) Target { return Target{"<=", bound} }

// Above is reached by more than bound.
func Above(bound float64) Target { return Target{">", bound} }

// String is the target as a figure's line shows it: ">=0.95", or "-" for none.
func (t Target) String() string {
	if t.op == "" {
		return "-"
	}
	return t.op + strconv.FormatFloat(math.Round(t.bound*1000)/1000, 'f', -1, 64)
}

func (t Target) reachedBy(value float64) bool {
	switch t.op {
	case ">=":
		return value >= t.bound
	case ">":
		return value > t.bound
	default:
		return value <= t.bound
	}
}

// Figure is one number of a run.
type Figure struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
	Target  string  `json:"target"`
	Verdict Verdict `json:"verdict"`
	// Low and High are the interval of the value.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Close says that the verdict is ok by the spread only: the value itself falls short.
	Close bool `json:"close,omitempty"`
	// Values has one entry per pair or repeat, Sides what each was made of.
	Values []float64            `json:"values"`
	Sides  map[string][]float64 `json:"sides,omitempty"`
	Note   string               `json:"note,omitempty"`
}

// Measured is what a figure is made of. Values must not be empty.
type Measured struct {
	Name, Unit string
	Target     Target
	Values     []float64
	Sides      map[string][]float64
	Note       string
	// Enough says that the values are fit to be judged.
	Enough bool
}

// Of judges what was measured.
func Of(m Measured) Figure {
	low, high := Interval(m.Values)
	f := Figure{
		Name: m.Name, Value: Median(m.Values), Unit: m.Unit, Target: m.Target.String(), Low: low, High: high,
		Values: m.Values, Sides: m.Sides, Note: m.Note,
	}
	reached := m.Target.reachedBy(f.Value)
	best := m.Target.reachedBy(low) || m.Target.reachedBy(high)
	switch {
	case m.Target.op == "":
		f.Verdict = Info
	case !m.Enough:
		f.Verdict = Smoke
	case reached || best:
		f.Verdict, f.Close = OK, !reached
	default:
		f.Verdict = Miss
	}
	return f
}

// Line is the figure as it is printed: NAME VALUE UNIT TARGET VERDICT.
func (f Figure) Line() string {
	return fmt.Sprintf("%s %s %s %s %s", f.Name, Number(f.Value), f.Unit, f.Target, f.Verdict)
}

// Number prints a value with the decimals that say something: two below 10, one below 100, none from there on.
func Number(v float64) string {
	switch size := math.Abs(v); {
	case size >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}
