package measure

import "time"

// bucketCount is the number of the table's bucket columns.
const bucketCount = 17

// bounds are the upper ends of the buckets, inclusive; the last bucket has none.
var bounds = [bucketCount - 1]time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute,
}

// Bounds are the upper ends, inclusive, of the buckets of every latency; what is longer has a bucket of its own.
func Bounds() []time.Duration { return append([]time.Duration(nil), bounds[:]...) }

// Histogram counts latencies by size.
type Histogram struct {
	// SumMS is the sum of the latencies in milliseconds.
	SumMS float64
	// Buckets counts them by Bounds.
	Buckets [bucketCount]int64
}

// add counts one latency. It is a handful of comparisons: most latencies are short.
func (h *Histogram) add(d time.Duration) {
	i := 0
	for i < len(bounds) && d > bounds[i] {
		i++
	}
	h.Buckets[i]++
	h.SumMS += float64(d) / float64(time.Millisecond)
}

func (h *Histogram) merge(other *Histogram) {
	h.SumMS += other.SumMS
	for i, n := range other.Buckets {
		h.Buckets[i] += n
	}
}

// Count is how many latencies there are.
func (h *Histogram) Count() (n int64) {
	for _, in := range h.Buckets {
		n += in
	}
	return n
}

// MeanMS is their mean in milliseconds; 0 where there are none.
func (h *Histogram) MeanMS() float64 {
	if n := h.Count(); n > 0 {
		return h.SumMS / float64(n)
	}
	return 0
}

// QuantileMS estimates the latency in milliseconds that the share q (0 to 1) of them do not exceed, as if each bucket's lay evenly
// between its bounds. What is beyond the last bound counts as that: 5 min. It is 0 where there are none.
func (h *Histogram) QuantileMS(q float64) float64 {
	rank := q * float64(h.Count())
	low, before := 0.0, 0.0
	for i, bound := range bounds {
		in, high := float64(h.Buckets[i]), float64(bound)/float64(time.Millisecond)
		if in > 0 && before+in >= rank {
			return low + (high-low)*(rank-before)/in
		}
		low, before = high, before+in
	}
	if h.Buckets[bucketCount-1] > 0 {
		return low
	}
	return 0
}
