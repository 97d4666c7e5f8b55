package workers_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/postbus/postbus/internal/wait"
	"github.com/postbus/postbus/jobs"
)

// lane is one language's worker with an order of its own.
type lane struct {
	*shop
	language
	room room
}

// eachLanguage runs a test for every file, with a subscription of its own in one shop.
func eachLanguage(t *testing.T, test func(l lane)) {
	t.Parallel()
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.declare(l.kind())
			test(lane{shop: s, language: l, room: l.room(t)})
		})
	}
}

// order records an order of so many lines, waits until it is in a worker's hands where held, and answers its job.
func (l lane) order(lines int, held bool) jobs.JobID {
	l.Helper()
	l.psql(fmt.Sprintf(`select postbus.record('shop', 'order.placed', '%[1]d', '{"lines": %[1]d}');`, lines))
	const find = `select coalesce(max(j.id), 0)::text from postbus.river_job as j join postbus.events as e on e.id::text = j.args ->> 'event_id'
		where e.subject = $1::text and (j.state = 'running' or not $2)`
	var id string
	wait.Eventually(l.T, 30*time.Second, func() (bool, string) {
		id = ask[string](l.shop, find, fmt.Sprint(lines), held)
		return id != "0", "the order's job is not there, or nobody claims it"
	})
	return jobs.JobID(id)
}

func (l lane) reaches(id jobs.JobID, want jobs.State) (job jobs.Job) {
	l.Helper()
	wait.Eventually(l.T, 60*time.Second, func() (bool, string) {
		var err error
		if job, err = l.bus.Inspector().Get(l.Context(), id); err != nil {
			return false, err.Error()
		}
		return job.State == want, fmt.Sprintf("job %s is %s, want %s: %+v", id, job.State, want, job.Errors)
	})
	return job
}

const (
	longOrder = 3 * leaseSeconds * linesPerSecond
	endless   = 100 * longOrder
)

// Promise: a job of three leases' length is worked once, by one worker, beside another that looks for work.
func TestLongJobsAreExtended(t *testing.T) {
	eachLanguage(t, func(l lane) {
		first, second := l.room.start(l.shop), l.room.start(l.shop)
		job := l.reaches(l.order(longOrder, false), jobs.Completed)
		if job.Attempt != 1 || len(job.Errors) != 0 || len(l.room.printed(l.T)) != 1 {
			l.Errorf("a long job took %d attempts, errors %+v, and printed %v; want one label at the first attempt", job.Attempt, job.Errors, l.room.printed(l.T))
		}
		first.stop(l.T)
		second.stop(l.T)
	})
}

// Promise: on SIGTERM the job in hand goes to another worker at once, without an attempt spent, and the worker ends well.
func TestSIGTERMHandsTheJobOver(t *testing.T) {
	eachLanguage(t, func(l lane) {
		p := l.room.start(l.shop)
		id := l.order(endless, true)
		p.stop(l.T)
		job := l.reaches(id, jobs.Pending)
		if job.Attempt != 0 || job.Snoozes != 1 || len(job.Errors) != 0 {
			l.Errorf("the job was handed over with attempt %d, %d snoozes, errors %+v; want 0, 1 and none", job.Attempt, job.Snoozes, job.Errors)
		}
	})
}

// Promise: a worker whose job is cancelled lets go of it and works on the next.
func TestACancelledJobIsLetGoOf(t *testing.T) {
	eachLanguage(t, func(l lane) {
		p := l.room.start(l.shop)
		id := l.order(endless, true)
		if _, err := l.bus.Inspector().Cancel(l.Context(), id); err != nil {
			l.Fatal(err)
		}
		l.reaches(id, jobs.Cancelled)
		l.reaches(l.order(1, false), jobs.Completed)
		if printed := l.room.printed(l.T); len(printed) != 1 {
			l.Errorf("printed %v, want the label of the second order alone", printed)
		}
		p.stop(l.T)
	})
}

// Promise: a worker whose lease was lost leaves no row and goes on with the next job.
func TestALostLeaseCountsForNothing(t *testing.T) {
	eachLanguage(t, func(l lane) {
		p := l.room.start(l.shop)
		id := l.order(endless, true)
		// An operator's retry of a job that was ended by hand is one way to lose a lease.
		l.psql(`update postbus.river_job set state = 'discarded', finalized_at = now() where state = 'running';`)
		l.reaches(l.order(1, false), jobs.Completed)
		l.reaches(id, jobs.Discarded)
		labels := ask[[]string](l.shop, `select array_agg(e.subject) from labels join postbus.events as e on e.id = event_id`)
		if !slices.Equal(labels, []string{"1"}) {
			l.Errorf("labels of orders %v, want that of 1 alone", labels)
		}
		p.stop(l.T)
	})
}
