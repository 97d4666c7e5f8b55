package workers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/internal/wait"
)

const (
	perLanguage = 2 // workers side by side
	killsEach   = 5
)

// Promise: workers that are killed at any moment lose no event and see none that was rolled back, the accounting balances, what
// they write in the completing transaction is there once, and what they do outside of it is doubled only under one event id.
func TestKilledAtRandomNothingIsLostAndNoEffectDoubled(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	rooms := map[string]room{}
	for _, l := range languages {
		s.declare(l.kind())
		rooms[l.kind()] = l.room(t)
	}
	random := rand.New(rand.NewPCG(*seed, 2))
	var all sync.WaitGroup
	var kills atomic.Int64
	for _, l := range languages {
		for range perLanguage {
			own := rand.New(rand.NewPCG(random.Uint64(), 0))
			all.Go(func() { kills.Add(int64(s.killAgainAndAgain(rooms[l.kind()], own))) })
		}
	}
	s.record(random, *eventCount)
	all.Wait()
	var last []*process
	for _, l := range languages {
		for range perLanguage {
			last = append(last, rooms[l.kind()].start(s))
		}
	}
	until(s, 5*time.Minute, 0, `select count(*)::int from postbus.events where fanned_out_at is null`)
	s.allSettled(last)
	for _, p := range last {
		p.stop(t)
	}
	for kind, r := range rooms {
		s.balances(kind, r.printed(t))
	}
	t.Logf("%d events, %d workers killed %d times, seed %d", *eventCount, perLanguage*len(languages), kills.Load(), *seed)
}

// killAgainAndAgain runs one worker after the other in a room and kills each some time after labels came out.
func (s *shop) killAgainAndAgain(r room, random *rand.Rand) (kills int) {
	for range killsEach {
		p := r.start(s)
		wanted := len(r.printed(s.T)) + 1 + random.IntN(10)
		alone := time.Now().Add(20 * time.Second) // nothing may be left to print
		for len(r.printed(s.T)) < wanted && time.Now().Before(alone) {
			_ = loop.Sleep(context.Background(), 5*time.Millisecond)
		}
		_ = loop.Sleep(context.Background(), time.Duration(random.IntN(40))*time.Millisecond)
		p.kill()
		kills++
	}
	return kills
}

// allSettled waits until no job is left to do.
func (s *shop) allSettled(workers []*process) {
	s.Helper()
	wait.Eventually(s.T, 5*time.Minute, func() (bool, string) {
		left := ask[string](s, `select coalesce(string_agg(format('%s of %s %s', n, kind, state), ', '), '') from (
			select kind, state, count(*) as n from postbus.river_job
			where state not in ('completed', 'discarded', 'cancelled') group by 1, 2) as j`)
		why := left
		for _, p := range workers {
			why += fmt.Sprintf("\n%s said: %s", p.cmd.Args, p.said)
		}
		return left == "", why
	})
}

// record has psql commit n events, each with its order, and roll back a fifth as many.
func (s *shop) record(random *rand.Rand, n int) {
	var script strings.Builder
	for order, committed := 0, 0; committed < n; order++ {
		end := "commit"
		if random.IntN(6) == 0 {
			end = "rollback"
		} else {
			committed++
		}
		fmt.Fprintf(&script, "begin; insert into orders values (%d); select postbus.record('shop', 'order.placed', '%[1]d', %s); %s;\n",
			order, orderOf(random, committed), end)
		if order%25 == 24 {
			s.psql(script.String())
			script.Reset()
		}
	}
	s.psql(script.String())
}

// orderOf is an event's data: most are printed at once; some never, later, at the second attempt, or for three leases long.
func orderOf(random *rand.Rand, n int) string {
	switch n % 75 {
	case 10, 40:
		return `'{"lines": 0}'`
	case 20, 50:
		return `'{"lines": 2, "jam": true}'`
	case 30:
		return `json_build_object('lines', 2, 'not_before', extract(epoch from now()) + 2)`
	case 60:
		return fmt.Sprintf(`'{"lines": %d}'`, 3*leaseSeconds*linesPerSecond)
	default:
		return fmt.Sprintf(`'{"lines": %d}'`, 1+random.IntN(5))
	}
}

// account is what became of the events for one subscription.
type account struct {
	Orders, Events, Jobs, Completed, Discarded int
	Labels, LabelledEvents                     int
	Lost, Phantom, DiscardedWrongly            int
}

const accountSQL = `
with e as (select id, subject, (data ->> 'lines')::int > 0 as printable from postbus.events where type = 'order.placed'),
j as (select args ->> 'event_id' as event_id, state::text from postbus.river_job where kind = $1)
select (select count(*) from orders), (select count(*) from e), (select count(*) from j),
    (select count(*) from j where state = 'completed'), (select count(*) from j where state = 'discarded'),
    (select count(*) from labels where kind = $1), (select count(distinct event_id) from labels where kind = $1),
    (select count(*) from e where printable and not exists (select from labels as l where l.kind = $1 and l.event_id = e.id)),
    (select count(*) from labels as l where l.kind = $1 and not exists (
        select from e join orders as o on o.id::text = e.subject where e.id = l.event_id)),
    (select count(*) from j join e on e.id::text = j.event_id where (j.state = 'discarded') = e.printable)`

// balances holds what one language's workers did against what was recorded.
func (s *shop) balances(kind string, printed []string) {
	s.Helper()
	rows, err := s.pool.Query(s.Context(), accountSQL, kind)
	if err != nil {
		s.Fatal(err)
	}
	got, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[account])
	if err != nil {
		s.Fatal(err)
	}
	n := *eventCount
	never := ask[int](s, `select count(*)::int from postbus.events where data ->> 'lines' = '0'`)
	want := account{Orders: n, Events: n, Jobs: n, Completed: n - never, Discarded: never, Labels: n - never, LabelledEvents: n - never}
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("%s (-want +got):\n%s", kind, diff)
	}
	times := map[string]int{}
	for _, id := range printed {
		times[id]++
	}
	known := ask[int](s, `select count(*)::int from postbus.events where data ->> 'lines' <> '0' and id::text = any($1)`, printed)
	if known != len(times) || known != n-never {
		s.Errorf("%s printed labels of %d events, %d of them committed; want the %d", kind, len(times), known, n-never)
	}
	again := ask[int](s, `select count(*)::int from postbus.river_job where kind = $1 and exists (
		select from unnest(errors) as e where e ->> 'error' like 'the lease ended%')`, kind)
	if again == 0 {
		s.Errorf("%s: no lease ended: the kills hit nothing", kind)
	}
	s.Logf("%s: %+v; %d labels printed, %d more than once for its event; %d jobs came back by the end of a lease",
		kind, got, len(printed), len(printed)-len(times), again)
}
