package figure_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postbus/postbus/bench/internal/figure"
)

func TestMedianAndPercentile(t *testing.T) {
	t.Parallel()
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"odd", figure.Median([]float64{3, 1, 2}), 2},
		{"even", figure.Median([]float64{4, 1, 2, 3}), 2.5},
		{"one", figure.Median([]float64{7}), 7},
		{"p50", figure.Percentile(hundred, 50), 50},
		{"p99", figure.Percentile(hundred, 99), 99},
		{"p99 of few is the worst", figure.Percentile([]float64{5, 9, 1}, 99), 9},
		{"p0", figure.Percentile(hundred, 0), 1},
		{"p100", figure.Percentile(hundred, 100), 100},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if !math.IsNaN(figure.Median(nil)) || !math.IsNaN(figure.Percentile(nil, 50)) {
		t.Error("no values have a median or a percentile")
	}
}

// The ranks are those of the sign test's tables.
func TestIntervalIsThatOfTheSignTest(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][2]float64{1: {1, 1}, 3: {1, 3}, 5: {1, 5}, 7: {1, 7}, 9: {2, 8}, 12: {3, 10}, 20: {6, 15}} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(n - i)
		}
		low, high := figure.Interval(values)
		if diff := cmp.Diff(want, [2]float64{low, high}); diff != "" {
			t.Errorf("of %d values (-want +got):\n%s", n, diff)
		}
	}
}

// Promise: the interval holds the true median in at least 93 of 100 runs.
func TestIntervalCoversTheMedian(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{5, 6, 8, 11} {
		const runs = 20_000
		covered := 0
		for range runs {
			values := make([]float64, n)
			for i := range values {
				values[i] = rng.ExpFloat64() // its median is ln 2
			}
			if low, high := figure.Interval(values); low <= math.Ln2 && math.Ln2 <= high {
				covered++
			}
		}
		if share := float64(covered) / runs; share < 0.925 { // three standard errors below 0.93
			t.Errorf("of %d values the interval covers the median in %.3f of runs", n, share)
		}
	}
}

// Promise: a miss is only said where the interval's better end falls short.
func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		target  figure.Target
		values  []float64
		few     bool
		verdict figure.Verdict
		close   bool
	}{
		{name: "reached", target: figure.AtLeast(0.95), values: []float64{0.96, 0.97, 0.95}, verdict: figure.OK},
		{name: "at the bound", target: figure.AtLeast(0.95), values: []float64{0.95}, verdict: figure.OK},
		{name: "short, the better end reaches it", target: figure.AtLeast(0.95), values: []float64{0.90, 0.94, 0.95}, verdict: figure.OK, close: true},
		{name: "short", target: figure.AtLeast(0.95), values: []float64{0.90, 0.92, 0.949}, verdict: figure.Miss},
		{name: "below", target: figure.AtMost(4), values: []float64{3, 4, 5}, verdict: figure.OK},
		{name: "over, the better end reaches it", target: figure.AtMost(4), values: []float64{4, 5, 6}, verdict: figure.OK, close: true},
		{name: "over", target: figure.AtMost(4), values: []float64{4.1, 5, 6}, verdict: figure.Miss},
		{name: "above", target: figure.Above(0.5), values: []float64{0.6}, verdict: figure.OK},
		{name: "equal is not above", target: figure.Above(0.5), values: []float64{0.5}, verdict: figure.Miss},
		{name: "too few", target: figure.AtLeast(0.95), values: []float64{0.1}, few: true, verdict: figure.Smoke},
		{name: "no target", values: []float64{0.1}, verdict: figure.Info},
	} {
		f := figure.Of(figure.Measured{Target: c.target, Values: c.values, Enough: !c.few})
		if f.Verdict != c.verdict || f.Close != c.close {
			t.Errorf("%s: %s, close %v; want %s, %v", c.name, f.Verdict, f.Close, c.verdict, c.close)
		}
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	f := figure.Of(figure.Measured{
		Name: "writer_tax_32", Unit: "ratio", Target: figure.AtLeast(0.95), Values: []float64{0.958, 0.97, 0.94}, Enough: true,
	})
	if got, want := f.Line(), "writer_tax_32 0.96 ratio >=0.95 ok"; got != want {
		t.Errorf("line %q, want %q", got, want)
	}
	var numbers []string
	for _, v := range []float64{0.001, 9.876, 12.34, 4321.9} {
		numbers = append(numbers, figure.Number(v))
	}
	if diff := cmp.Diff([]string{"0.00", "9.88", "12.3", "4322"}, numbers); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	none := figure.Of(figure.Measured{Name: "x", Unit: "ms", Values: []float64{1}})
	if got, want := none.Line(), "x 1.00 ms - info"; got != want {
		t.Errorf("line %q, want %q", got, want)
	}
}
