package webhooks

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// matched = delivered + pending + discarded + skipped, with every reason, of one owner and one range at a time.
func TestAccountBalances(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	on, off := o.endpoint().ID, o.endpoint().ID
	o.update(off, EndpointPatch{Enabled: ptr(false), Reason: "moving: soon"})
	first, ds := o.fan("a")
	for _, d := range ds {
		if d.EndpointID == on {
			o.settleAs(d, Discarded, "all 18 attempts failed; the last: 500 Internal Server Error")
		}
	}
	_, ds = o.fan("b")
	for _, d := range ds {
		if d.EndpointID == on {
			o.settleAs(d, Delivered, "")
		}
	}
	last, _ := o.fan("c")
	o.record("d", `{}`) // not fanned out yet
	o.recordAs(internalType, "e", `{}`)
	if _, err := o.SendTest(t.Context(), on); err != nil {
		t.Fatal(err)
	}
	want := Account{
		Events: 4, FannedOut: 3, Outstanding: 1, Matched: 6,
		Fanout: Outcomes{
			Delivered: 1, Pending: 1, Discarded: 1, Skipped: 3,
			SkipReasons: map[string]int64{"endpoint disabled": 3}, DiscardReasons: map[string]int64{"all 18 attempts failed": 1},
		},
		Tests: Outcomes{Pending: 1},
	}
	if diff := cmp.Diff(want, o.account()); diff != "" {
		t.Error(diff)
	}
	part, err := o.Account(t.Context(), AccountFilter{Since: first.OccurredAt, Until: last.OccurredAt, OwnerID: owner})
	if err != nil || part.Matched != 4 || part.Unaccounted != 0 || part.Events != 2 {
		t.Errorf("%+v, %v", part, err)
	}
	none, err := o.Account(t.Context(), AccountFilter{OwnerID: "other"})
	if diff := cmp.Diff(Account{}, none); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// A delivery that is lost shows.
func TestAccountShowsALoss(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.endpoint()
	o.delivery("a")
	o.exec(`delete from postbus.webhook_deliveries`)
	if a := o.account(); a.Unaccounted != 1 {
		t.Errorf("%+v", a)
	}
}

// The account balances at every moment of a busy time: it is one statement, of one moment.
func TestAccountBalancesWhileEverythingMoves(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	var endpoints []string
	for i := range 4 {
		endpoints = append(endpoints, o.endpoint(func(s *EndpointSpec) { s.Ordered = i%2 == 0 }).ID)
	}
	until := time.Now().Add(2 * time.Second)
	workers := make(chan int, 5)
	for i := range cap(workers) {
		workers <- i
	}
	inParallel(cap(workers), func() {
		me := <-workers
		for i := 0; time.Now().Before(until) || i < 3; i++ {
			id := endpoints[rand.IntN(len(endpoints))]
			var err error
			switch me {
			case 0, 1:
				err = o.fanOut(t.Context(), o.record("s", `{}`))
			case 2:
				_, err = o.Update(t.Context(), id, EndpointPatch{Enabled: ptr(i%2 == 0)})
			case 3:
				_, _ = o.RedeliverDiscarded(t.Context(), id, 10)
				_, err = o.Update(t.Context(), id, EndpointPatch{Ordered: ptr(i%2 == 0)})
			case 4:
				if a := o.account(); a.Unaccounted != 0 {
					t.Errorf("%+v", a)
				}
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	if a := o.account(); a.Unaccounted != 0 || a.Matched == 0 {
		t.Errorf("%+v", a)
	}
}
