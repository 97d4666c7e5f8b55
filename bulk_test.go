package postbus_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
)

// Promise: a bulk of changes becomes passes of at most 200; a coalescing subscription gets at most one job per subject and
// pass, whose state is the last; every other subscription gets every event.
func TestBulkIsCutIntoPassesAndCoalescedOnlyWhereAsked(t *testing.T) {
	t.Parallel()
	const changes, subjects = 2000, 100
	pool := testdb.New(t)
	var mu sync.Mutex
	seen, last := 0, map[string]int{}
	bus := startBus(t, pool, postbus.Config{Subscriptions: []events.Subscription{
		to("audit", func(context.Context, events.Event) error {
			mu.Lock()
			defer mu.Unlock()
			seen++
			return nil
		}),
		{Name: "index", Types: []string{"note.changed"}, Coalesce: true, Handle: func(_ context.Context, e events.Event) error {
			var data struct{ N int }
			if err := json.Unmarshal(e.Data, &data); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			last[e.Subject] = max(last[e.Subject], data.N)
			return nil
		}},
	}})
	recordAll(t, pool, bus.Recorder(), changes, func(i int) string { return fmt.Sprint("note", i%subjects) })

	eventually(t, 30*time.Second, pool, int64(0), unfannedSQL)
	eventually(t, 30*time.Second, pool, int64(0), `select count(*) from postbus.river_job where kind in ('audit', 'index') and state <> 'completed'`)
	if biggest := one[int64](t, pool, `select max(n) from (select count(*) as n from postbus.events group by xmin::text) as p`); biggest > 200 {
		t.Errorf("a pass fanned out %d events, the limit is 200", biggest)
	}
	passes := one[int64](t, pool, `select count(distinct xmin::text) from postbus.events`)
	jobs := one[int64](t, pool, `select count(*) from postbus.river_job where kind = 'index'`)
	if jobs > passes*subjects || jobs < subjects {
		t.Errorf("%d index jobs for %d passes and %d subjects", jobs, passes, subjects)
	}
	if twice := one[int64](t, pool, `select count(*) from (select from postbus.events group by xmin::text, subject
		having count(distinct fanout->>'index') > 1) as d`); twice != 0 {
		t.Errorf("%d times a subject got two index jobs in one pass", twice)
	}
	mu.Lock()
	defer mu.Unlock()
	if seen != changes {
		t.Errorf("the subscription that does not coalesce saw %d events, want %d", seen, changes)
	}
	for i := changes - subjects; i < changes; i++ {
		if got := last[fmt.Sprint("note", i%subjects)]; got != i {
			t.Fatalf("subject note%d ended with state %d, want %d", i%subjects, got, i)
		}
	}
}
