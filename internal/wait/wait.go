package wait

import (
	"context"
	"testing"
	"time"

	"github.com/postbus/postbus/internal/loop"
)

// Eventually returns when cond does with true. When it has not within the given time, the test
// fails at once with the last reason that cond gave. It must be called on the test's goroutine.
func Eventually(t testing.TB, within time.Duration, cond func() (ok bool, why string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 25*time.Millisecond) {
		ok, why := cond()
		if ok {
			return
		}
		if err := loop.Sleep(ctx, pause); err != nil {
			t.Fatalf("not within %v: %s", within, why)
		}
	}
}
