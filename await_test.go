package postbus_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
	"github.com/postbus/postbus/jobs"
)

// The way of a write receipt: commit, find the event, wait for its job, wait for the job's end.
func TestReceipt(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	sub := to("index", ignore)
	sub.Receipt = true
	bus := startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{sub}})
	for i := range 20 {
		subject := fmt.Sprint("note-", i)
		recordAll(t, pool, bus.Recorder(), 1, func(int) string { return subject })
		e, err := bus.Events().LatestFor(t.Context(), "owner", subject)
		if err != nil {
			t.Fatal(err)
		}
		fanout, fanned, err := bus.Events().AwaitFanout(t.Context(), e.ID, 5*time.Second)
		if err != nil || !fanned || len(fanout) != 1 {
			t.Fatalf("fan-out %v, %v, %v", fanout, fanned, err)
		}
		if state, ended := bus.Wait(t.Context(), fanout["index"], 5*time.Second); !ended || state != jobs.Completed {
			t.Fatalf("job %s is %q", fanout["index"], state)
		}
	}
}

// At most 64 callers wait in a process; one more is answered "not yet" at once. An event that is not there is said to be so.
func TestAwaitFanoutIsCapped(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus, err := postbus.New(pool, quick(postbus.Config{})) // never started: nothing is fanned out
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Declare(t.Context()); err != nil {
		t.Fatal(err)
	}
	recordAll(t, pool, bus.Recorder(), 1, numbered("note-"))
	e, err := bus.Events().LatestFor(t.Context(), "owner", "note-0")
	if err != nil {
		t.Fatal(err)
	}
	const callers, max = 80, 2 * time.Second
	var atOnce, waited int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			began := time.Now()
			_, fanned, err := bus.Events().AwaitFanout(t.Context(), e.ID, max)
			if fanned || err != nil {
				t.Errorf("fanned %v, %v", fanned, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if time.Since(began) < max {
				atOnce++
			} else {
				waited++
			}
		})
	}
	all.Wait()
	if waited != 64 || atOnce != callers-64 {
		t.Errorf("%d waited and %d were answered at once, want 64 and %d", waited, atOnce, callers-64)
	}
	for _, id := range []string{"", "x", "00000000-0000-4000-8000-000000000000", "' or 1=1 --"} {
		if _, _, err := bus.Events().AwaitFanout(t.Context(), id, 0); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("AwaitFanout(%q): %v, want ErrNotFound", id, err)
		}
	}
}

// A page neither skips nor repeats a row, and what no page gave is no cursor.
func TestListPages(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	bus := startBus(t, pool, postbus.Config{})
	recordAll(t, pool, bus.Recorder(), 25, numbered("note-"))
	seen := map[string]bool{}
	filter := events.Filter{OwnerID: "owner", Limit: 10}
	for pages := 0; ; pages++ {
		page, err := bus.Events().List(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			if seen[e.ID] {
				t.Errorf("event %s twice", e.Subject)
			}
			seen[e.ID] = true
		}
		if filter.Cursor = page.Next; filter.Cursor == "" {
			break
		}
		recordAll(t, pool, bus.Recorder(), 1, func(int) string { return fmt.Sprint("late-", pages) })
	}
	if len(seen) != 25 {
		t.Errorf("%d events seen, want 25", len(seen))
	}
	for _, bad := range []events.Filter{{Cursor: "x"}, {Cursor: "ZTA"}, {Limit: 201}, {Limit: -1}, {Status: "odd"}} {
		if _, err := bus.Events().List(t.Context(), bad); !errors.Is(err, events.ErrInvalid) {
			t.Errorf("List(%+v): %v, want ErrInvalid", bad, err)
		}
	}
}
