package jobs

import (
	"math/rand/v2"
	"time"
)

// Backoff gives the wait after the attempt that just failed (1 for the first). It must be pure up to jitter.
type Backoff func(attempt int) time.Duration

// DefaultBackoff waits 2 s, 4 s, 8 s … at most 10 min, each ± 10 %.
func DefaultBackoff(attempt int) time.Duration {
	return Exponential(2*time.Second, 2, 10*time.Minute)(attempt)
}

// Exponential waits base, then factor times more after each attempt, at most limit, each ± 10 %.
// It does not overflow, whatever the attempt.
func Exponential(base time.Duration, factor float64, limit time.Duration) Backoff {
	return func(attempt int) time.Duration {
		wait := float64(base)
		for i := 1; i < attempt && wait < float64(limit); i++ {
			wait *= factor
		}
		return Jitter(min(time.Duration(min(wait, float64(limit))), limit))
	}
}

// Steps waits through the list, then its last entry for ever, each ± 10 %. An empty list waits 0.
func Steps(steps ...time.Duration) Backoff {
	return func(attempt int) time.Duration {
		if len(steps) == 0 {
			return 0
		}
		i := min(max(attempt, 1), len(steps)) - 1
		return Jitter(steps[i])
	}
}

// Jitter spreads d by ± 10 %, so that what failed together does not come back together.
func Jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}
