package river

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// A thousand Waits share one subscription and one poll, and each gets its answer: by notification where that is heard,
// by the poll where it is not.
func TestThousandWaitersShareOneSubscription(t *testing.T) {
	t.Parallel()
	for name, receipt := range map[string]bool{"told": true, "polled": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, jobs.Kind{Name: "k", Receipt: receipt, Handle: func(context.Context, json.RawMessage) error { return nil }})
			listener := pg.NewListener(b.pool, pg.ListenerConfig{Log: testLog(t)})
			if err := listener.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(listener.Stop)
			b.waiters.hub = listener
			t.Cleanup(func() { _ = b.Stop(context.Background()) })
			const n = 1000
			runs := b.fetch("a", n)
			var wg sync.WaitGroup
			for i := range runs {
				runs[i].receipt = receipt
				wg.Go(func() {
					if state, ok := b.Wait(t.Context(), jobID(runs[i].id), time.Minute); state != jobs.Completed || !ok {
						t.Errorf("Wait for job %d = %s, %v", runs[i].id, state, ok)
					}
				})
			}
			wait.Eventually(t, 30*time.Second, func() (bool, string) {
				b.waiters.mu.Lock()
				defer b.waiters.mu.Unlock()
				return len(b.waiters.waiting) == n, fmt.Sprintf("%d jobs are waited for", len(b.waiters.waiting))
			})
			if err := b.settler.write(t.Context(), runs); err != nil {
				t.Fatal(err)
			}
			wg.Wait()
			b.waiters.mu.Lock()
			defer b.waiters.mu.Unlock()
			if len(b.waiters.waiting) != 0 {
				t.Errorf("%d jobs are still waited for", len(b.waiters.waiting))
			}
		})
	}
}
