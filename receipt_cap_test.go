package postbus_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
)

// The cap holds for jobs that are waited for as well.
func TestJobReceiptsAreCapped(t *testing.T) {
	t.Parallel()
	bus := startBus(t, testdb.New(t), postbus.Config{Kinds: []jobs.Kind{{Name: "later", Handle: func(context.Context, json.RawMessage) error { return nil }}}})
	id, err := bus.Jobs().Enqueue(t.Context(), "later", struct{}{}, jobs.EnqueueOpts{RunAt: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	waiting, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for waiting.Err() == nil { // again where the look below had the last place
				_, _ = bus.JobReceipt(waiting, id, time.Hour)
			}
		})
	}
	const most = 200 * time.Millisecond
	wait.Eventually(t, 20*time.Second, func() (bool, string) {
		begun := time.Now()
		receipt, err := bus.JobReceipt(t.Context(), id, most)
		if err != nil || receipt.State != jobs.Pending || receipt.Final {
			t.Fatalf("%+v, %v", receipt, err)
		}
		return time.Since(begun) < most, "the 65th waits"
	})
	leave()
	all.Wait()
}
