package peer

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/bench/internal/rig"
	"github.com/postbus/postbus/internal/loop"
)

// Every system hands each event to each subscriber, whose transaction committed, and none of one that was rolled back.
func TestSystemsHandOverWhatWasCommitted(t *testing.T) {
	t.Parallel()
	server, err := rig.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	for _, s := range All() {
		t.Run(s.Name, func(t *testing.T) {
			db, err := server.Database(t.Context(), "peer_"+s.Name)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = server.Drop(context.Background(), db) }) // with its connections
			const subscribers, events = 3, 20
			instance, err := s.Open(t.Context(), db, subscribers)
			if err != nil {
				t.Fatal(err)
			}
			for n := range events {
				tx, err := db.Pool.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := instance.Record(t.Context(), tx, n, Data(n, 256)); err != nil {
					t.Fatal(err)
				}
				end := pgx.Tx.Commit
				if n%5 == 4 {
					end = pgx.Tx.Rollback
				}
				if err := end(tx, t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			var mu sync.Mutex
			got, want := map[string]bool{}, map[string]bool{}
			for n := range events {
				for sub := range subscribers {
					if n%5 != 4 {
						want[fmt.Sprint(sub, n)] = true
					}
				}
			}
			stop, err := instance.Start(t.Context(), func(subscriber, event int) {
				mu.Lock()
				defer mu.Unlock()
				got[fmt.Sprint(subscriber, event)] = true
			})
			if err != nil {
				t.Fatal(err)
			}
			all := func() bool { mu.Lock(); defer mu.Unlock(); return maps.Equal(got, want) }
			for end := time.Now().Add(2 * time.Minute); !all() && time.Now().Before(end); {
				_ = loop.Sleep(t.Context(), 10*time.Millisecond)
			}
			if err := stop(t.Context()); err != nil {
				t.Errorf("stop: %v", err)
			}
			if !all() {
				t.Errorf("handled %d, want %d", len(got), len(want))
			}
		})
	}
}

func TestDataIsOfItsSize(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 7, 123456} {
		if data := Data(n, 256); len(data) != 256 || numberOf(data) != n {
			t.Errorf("%s: %d bytes, number %d", data, len(data), numberOf(data))
		}
	}
}
