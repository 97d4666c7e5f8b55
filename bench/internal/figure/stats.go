package figure

import (
	"math"
	"slices"
)

// coverage is how sure an interval has to be; five values reach 0.9375.
const coverage = 0.93

// Median is the middle of the values, or the mean of the middle two. It is NaN where there are none.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Percentile is the smallest value that at least p of 100 values do not exceed (nearest rank). It is NaN where there are
// none.
func Percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Interval is the narrowest pair of order statistics, as far from one end as from the other, between which the true median
// lies with the coverage. It rests on the sign test: each value falls on either side of the true median by the toss of
// a coin, so the number below it is binomial.
func Interval(values []float64) (low, high float64) {
	n := len(values)
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	k, term := 0, math.Pow(0.5, float64(n)) // term: the chance that exactly k values lie below the median
	for outside := 2 * term; 1-outside >= coverage; outside += 2 * term {
		k++
		term *= float64(n-k+1) / float64(k)
	}
	k = max(k, 1)
	return sorted[k-1], sorted[n-k]
}
