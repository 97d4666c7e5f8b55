package workers_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/internal/wait"
)

// enqueue makes n jobs of a kind in one statement, and waits until they can be claimed.
func (s *shop) enqueue(kind string, n int) {
	s.Helper()
	before := ask[int](s, jobsSQL, kind)
	s.psql(fmt.Sprintf("select count(postbus.enqueue('%s', json_build_object('n', n))) from generate_series(1, %d) as n;", kind, n))
	until(s, 30*time.Second, before+n, jobsSQL, kind)
}

const (
	jobsSQL    = `select count(*)::int from postbus.river_job where kind = $1`
	claimIDSQL = `select coalesce((select id from postbus.claim_work(array[$1], $2, 1, make_interval(secs => $3))), '')`
)

// refused runs a statement that must fail with the SQLSTATE and these words.
func (s *shop) refused(state, says, sql string, args ...any) {
	s.Helper()
	_, err := s.pool.Exec(s.Context(), sql, args...)
	var failed *pgconn.PgError
	if !errors.As(err, &failed) || failed.Code != state || !strings.Contains(failed.Message, says) {
		s.Errorf("%s: %v; want %s and %q", sql, err, state, says)
	}
}

// Promise: two workers never hold one lease, however many claim at once.
func TestTwoWorkersNeverHoldOneLease(t *testing.T) {
	t.Parallel()
	const total, workers = 300, 8
	s := newShop(t)
	s.psql("select postbus.declare_kind('print'); select postbus.declare_kind('fold');")
	s.enqueue("print", total/2)
	s.enqueue("fold", total/2)
	var mu sync.Mutex
	var claimed []string
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for {
				var got []string
				err := s.pool.QueryRow(s.Context(), `select coalesce(array_agg(job), '{}') from postbus.claim_work(array['print', 'fold'], $1, 5, '1 hour')`,
					fmt.Sprintf("worker %d", w)).Scan(&got)
				if err != nil {
					s.Errorf("claim: %v", err)
				}
				if err != nil || len(got) == 0 && ask[int](s, `select count(*)::int from postbus.river_job where state = 'available'`) == 0 {
					return
				}
				mu.Lock()
				claimed = append(claimed, got...)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(claimed)
	if each := slices.Compact(slices.Clone(claimed)); len(claimed) != total || len(each) != total {
		t.Errorf("%d claims of %d jobs, want each of %d once", len(claimed), len(each), total)
	}
}

// Promise: a lease that ended is claimed again within a second by a worker that looks every 200 ms, and what its former holder
// says then is refused and takes the holder's own rows with it.
func TestAnEndedLeaseIsClaimedAgainAndItsHolderRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.psql("select postbus.declare_kind('print', 100);")
	s.enqueue("print", 1)
	lease := ask[string](s, claimIDSQL, "print", "first", 1)
	for range 3 {
		former := lease
		ends := ask[time.Time](s, `select scheduled_at from postbus.river_job where kind = 'print'`)
		var slowest time.Duration // between two looks: this machine's share
		last := time.Now()
		wait.Eventually(t, 30*time.Second, func() (bool, string) {
			_ = loop.Sleep(t.Context(), 200*time.Millisecond)
			lease = ask[string](s, claimIDSQL, "print", "second", 1)
			slowest, last = max(slowest, time.Since(last)), time.Now()
			return lease != "", "nobody can claim it"
		})
		again := ask[time.Time](s, `select attempted_at from postbus.river_job where kind = 'print'`)
		if late := again.Sub(ends); late < 0 || late > max(time.Second, 2*slowest) {
			t.Errorf("claimed again %s after the lease's end, want 0 to 1 s", late)
		}
		s.holderIsRefused(former)
	}
	if _, err := s.pool.Exec(t.Context(), `select postbus.complete_work($1)`, lease); err != nil {
		t.Errorf("the holder's completion: %v", err)
	}
}

func (s *shop) holderIsRefused(lease string) {
	s.Helper()
	const says = "is lost: its job is running now, attempt "
	s.refused("PB001", says, `select postbus.extend_work($1)`, lease)
	s.refused("PB001", says, `select postbus.fail_work($1, 'late')`, lease)
	s.refused("PB001", says, `select postbus.complete_work($1, '{"late": true}')`, lease)
	s.refused("PB001", says, `with mine as (insert into labels (kind) values ('late')) select postbus.complete_work($1)`, lease)
	if rows := ask[int](s, `select count(*)::int from labels`); rows != 0 {
		s.Error("the row of a completion that was refused is there")
	}
}

// Promise: a job that is extended in time stays with its worker for three leases, and may be completed then.
func TestALeaseThatIsExtendedIsKept(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.psql("select postbus.declare_kind('print');")
	s.enqueue("print", 1)
	lease := ask[string](s, claimIDSQL, "print", "holder", 4)
	for began := time.Now(); time.Since(began) < 12*time.Second; _ = loop.Sleep(t.Context(), 200*time.Millisecond) {
		if _, err := s.pool.Exec(t.Context(), `select postbus.extend_work($1, '4 seconds')`, lease); err != nil {
			t.Fatalf("extend: %v", err)
		}
		if other := ask[string](s, claimIDSQL, "print", "other", 4); other != "" {
			t.Fatal("another worker claimed a job whose lease is extended")
		}
	}
	s.psql(fmt.Sprintf("select postbus.complete_work('%s', '{\"done\": true}');", lease))
	if got := ask[string](s, `select format('%s at attempt %s', state, attempt) from postbus.river_job`); got != "completed at attempt 1" {
		t.Error(got)
	}
}
