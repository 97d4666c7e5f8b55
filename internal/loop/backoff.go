package loop

import (
	"math/rand/v2"
	"time"
)

// Backoff spaces the retries of something that fails: Base, doubling to Max.
// The zero value uses the defaults.
type Backoff struct {
	Base time.Duration // Defaults to 2 s.
	Max  time.Duration // Defaults to 1 min.

	failures int
}

// Next returns how long to wait after one more failure: within 10 % of Base × 2^(failures so far),
// and of Max at most.
func (b *Backoff) Next() time.Duration {
	wait, limit := b.Base, b.Max
	if wait <= 0 {
		wait = 2 * time.Second
	}
	if limit <= 0 {
		limit = time.Minute
	}
	for i := 0; i < b.failures && wait < limit; i++ {
		wait *= 2
	}
	b.failures++
	return Jitter(min(wait, limit))
}

// Failures returns how many failures there were since the last success.
func (b *Backoff) Failures() int { return b.failures }

// Reset notes a success.
func (b *Backoff) Reset() { b.failures = 0 }

// Jitter returns a duration within 10 % of d, so that processes started together drift apart.
func Jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}
