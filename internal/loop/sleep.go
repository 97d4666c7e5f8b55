package loop

import (
	"context"
	"time"
)

// Sleep waits for d. It returns ctx.Err() as soon as ctx is cancelled, also for a d of zero or less.
func Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
