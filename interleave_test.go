package postbus_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"github.com/postbus/postbus"
	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/testdb"
)

// Promise: an unmarked row is always claimed in the end, whatever the order of commits; each committed event becomes exactly
// one job per subscription, each rolled-back one none. -rapid.checks sets how many schedules are tried (200 unless given).
func TestEveryCommittedEventIsFannedOnceInAnyOrderOfCommits(t *testing.T) {
	t.Parallel()
	pool := testdb.New(t)
	subs := []events.Subscription{to("first", ignore), to("second", ignore)}
	bus := startBus(t, pool, postbus.Config{Subscriptions: subs})
	startBus(t, pool, postbus.Config{Subscriptions: subs})
	rounds := 0
	rapid.Check(t, func(rt *rapid.T) {
		rounds++
		s := schedule{t: t, rt: rt, pool: pool, rec: bus.Recorder(), round: rounds, open: make([]*openTx, 4)}
		defer s.end()
		rt.Repeat(map[string]func(*rapid.T){
			"begin": s.begin, "insert": s.insert, "commit": s.commit, "rollback": s.rollback, "drain": s.drain,
		})
		s.end()
		s.check()
	})
	t.Logf("%d schedules", rounds)
}

// schedule is one random interleaving over four connections.
type schedule struct {
	t         *testing.T
	rt        *rapid.T
	pool      *pgxpool.Pool
	rec       events.Recorder
	round     int
	n         int
	open      []*openTx
	committed []string
	undone    int
}

type openTx struct {
	tx       pgx.Tx
	subjects []string
}

func (s *schedule) conn(rt *rapid.T, want bool) int {
	i := rapid.IntRange(0, len(s.open)-1).Draw(rt, "connection")
	if (s.open[i] != nil) != want {
		rt.Skip("not now")
	}
	return i
}

func (s *schedule) begin(rt *rapid.T) {
	i := s.conn(rt, false)
	tx, err := s.pool.Begin(context.Background())
	if err != nil {
		rt.Fatal(err)
	}
	s.open[i] = &openTx{tx: tx}
}

func (s *schedule) insert(rt *rapid.T) {
	o := s.open[s.conn(rt, true)]
	s.n++
	subject := fmt.Sprintf("%d-%d", s.round, s.n)
	if err := s.rec.With(o.tx).Record(context.Background(), "owner", noteChanged.Name, subject, nil); err != nil {
		rt.Fatal(err)
	}
	o.subjects = append(o.subjects, subject)
}

func (s *schedule) commit(rt *rapid.T) {
	i := s.conn(rt, true)
	if err := s.open[i].tx.Commit(context.Background()); err != nil {
		rt.Fatal(err)
	}
	s.committed = append(s.committed, s.open[i].subjects...)
	s.open[i] = nil
}

func (s *schedule) rollback(rt *rapid.T) { s.undo(s.conn(rt, true)) }

// drain lets the relays get ahead of the transactions that are still open.
func (s *schedule) drain(rt *rapid.T) {
	for deadline := time.Now().Add(10 * time.Second); one[int64](s.t, s.pool, unfannedSQL) > 0; {
		if time.Now().After(deadline) {
			rt.Fatal("committed events are not fanned out after 10 s")
		}
	}
}

func (s *schedule) undo(i int) {
	s.undone += len(s.open[i].subjects)
	_ = s.open[i].tx.Rollback(context.Background())
	s.open[i] = nil
}

func (s *schedule) end() {
	for i, o := range s.open {
		if o != nil {
			s.undo(i)
		}
	}
}

func (s *schedule) check() {
	mine := fmt.Sprintf("%d-%%", s.round)
	committed := int64(len(s.committed))
	deadline := time.Now().Add(10 * time.Second)
	for {
		recorded := one[int64](s.t, s.pool, `select count(*) from postbus.events where subject like $1`, mine)
		if recorded != committed {
			s.rt.Fatalf("%d events recorded, %d committed", recorded, committed)
		}
		fanned := one[int64](s.t, s.pool, `select count(*) from postbus.events where subject like $1 and fanned_out_at is not null`, mine)
		if fanned == committed {
			break
		}
		if time.Now().After(deadline) {
			s.rt.Fatalf("%d of %d committed events fanned out after 10 s (%d rolled back)", fanned, committed, s.undone)
		}
	}
	jobs := one[int64](s.t, s.pool, `select count(*) from postbus.river_job as j
		join postbus.events as e on e.id::text = j.args->>'event_id' where e.subject like $1`, mine)
	if jobs != 2*committed {
		s.rt.Fatalf("%d jobs for %d events and 2 subscriptions", jobs, committed)
	}
	if doubled := one[int64](s.t, s.pool, doubledSQL); doubled != 0 {
		s.rt.Fatalf("%d (event, subscription) pairs have two jobs", doubled)
	}
}
