package jobstest

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/postbus/postbus/jobs"
)

// ticker is a periodic that tells the case about its runs.
type ticker struct {
	e    *env
	runs chan time.Time
	all  atomic.Int64
	err  error
}

func (e *env) ticker() *ticker { return &ticker{e: e, runs: make(chan time.Time, 4096)} }

// failing makes the ticker end its runs with err.
func (k *ticker) failing(err error) *ticker { k.err = err; return k }

func (k *ticker) run(ctx context.Context) error {
	now, err := k.e.clock(ctx)
	if err != nil {
		return err
	}
	k.all.Add(1)
	k.runs <- now
	return k.err
}

func (k *ticker) count() int { return int(k.all.Load()) }

func (k *ticker) every(name string, d time.Duration) jobs.Periodic {
	return jobs.Periodic{Name: name, Every: d, Run: k.run}
}

func (k *ticker) cron(name, expression string) jobs.Periodic {
	return jobs.Periodic{Name: name, Cron: expression, Run: k.run}
}

func (k *ticker) next() time.Time {
	k.e.Helper()
	return soon(k.e, k.runs, "the periodic runs")
}

func (e *env) status(i *instance, app, name string) jobs.PeriodicStatus {
	e.Helper()
	all, err := i.Inspector().Periodics(e.ctx)
	e.ok(err, "list periodics")
	for _, status := range all {
		if status.App == app && status.Name == name {
			return status
		}
	}
	e.Fatalf("periodic %s of %s is not among %d", name, app, len(all))
	return jobs.PeriodicStatus{}
}

// result waits until the periodic's last run has this result.
func (e *env) result(i *instance, app, name, want string) jobs.PeriodicStatus {
	e.Helper()
	var status jobs.PeriodicStatus
	e.eventually(func() (bool, string) {
		status = e.status(i, app, name)
		return status.LastResult == want, fmt.Sprintf("the last result of %s is %q: %s", name, status.LastResult, status.LastError)
	})
	return status
}

func (e *env) lastSlot(i *instance, app string) time.Time {
	e.Helper()
	slot := e.status(i, app, "sweep").LastSlot
	if slot == nil {
		e.Fatalf("sweep of %s has run, and shows no last tick", app)
	}
	return *slot
}

// nextSlot waits for another tick of periodic "sweep".
func (e *env) nextSlot(i *instance, app string) {
	e.Helper()
	from := e.lastSlot(i, app)
	e.eventually(func() (bool, string) {
		return e.lastSlot(i, app).After(from), fmt.Sprintf("the last tick of %s is still %s", app, from)
	})
}
