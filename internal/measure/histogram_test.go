package measure

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// An estimate lies in the bucket of the latency that it estimates.
func TestQuantileIsInItsBucket(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		given := rapid.SliceOfN(rapid.Int64Range(0, int64(10*time.Minute)), 1, 200).Draw(t, "latencies")
		q := rapid.Float64Range(0.01, 1).Draw(t, "q")
		var h Histogram
		for _, d := range given {
			h.add(time.Duration(d))
		}
		slices.Sort(given)
		exact := time.Duration(given[int(math.Ceil(q*float64(len(given))-1e-9))-1])
		low, high := time.Duration(0), bounds[len(bounds)-1]
		for _, b := range bounds {
			if exact <= b {
				high = b
				break
			}
			low = b
		}
		got := h.QuantileMS(q)
		const slack = 1e-6
		if got < float64(low)/1e6-slack || got > float64(high)/1e6+slack {
			t.Fatalf("the %v-quantile of %d is %v ms, want one within %s and %s", q, len(given), got, low, high)
		}
		if n := h.Count(); n != int64(len(given)) {
			t.Fatalf("count %d, want %d", n, len(given))
		}
	})
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	var h Histogram
	if h.QuantileMS(0.5) != 0 || h.MeanMS() != 0 {
		t.Errorf("nothing has a median of %v and a mean of %v", h.QuantileMS(0.5), h.MeanMS())
	}
	for range 50 {
		h.add(15 * time.Millisecond)
		h.add(time.Hour)
	}
	for q, want := range map[float64]float64{0.25: 15, 0.5: 20, 0.95: 300_000} {
		if got := h.QuantileMS(q); got != want {
			t.Errorf("the %v-quantile is %v ms, want %v", q, got, want)
		}
	}
	if got := h.MeanMS(); got != (15+3_600_000)/2.0 {
		t.Errorf("the mean is %v ms", got)
	}
}
