package jobstest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/postbus/postbus/jobs"
)

func periodicCases() []Case {
	cases := []Case{
		{Name: "once-per-tick", run: periodicOncePerTick,
			Sentence: "A periodic runs once per tick over all instances of its application, and each application has its own."},
		{Name: "survives-restart", run: periodicSurvivesRestart,
			Sentence: "What a periodic did survives restarts, and a tick that ran does not run again."},
		{Name: "pause", run: periodicPause,
			Sentence: "PausePeriodic stops its ticks until ResumePeriodic; others go on."},
		{Name: "by-hand", run: periodicByHand,
			Sentence: "RunPeriodic runs one now, apart from its schedule, from any application, though it is paused."},
		{Name: "failure-is-shown", run: periodicFailure,
			Sentence: "A periodic that fails says so with its last result and error."},
		{Name: "status", run: periodicStatus,
			Sentence: "Periodics lists every application's periodics with schedule and next run, aligned to the epoch in UTC."},
		{Name: "not-found", run: periodicNotFound,
			Sentence: "Acting on a periodic that is not there answers ErrNotFound."},
		{Name: "bad-schedule-refused", run: periodicBadSchedule,
			Sentence: "A schedule that cannot be read is ErrInvalid at construction, and the error names the periodic."},
	}
	for n := range cases {
		cases[n].Topic, cases[n].Needs = "periodic", Periodics
	}
	return cases
}

// ticker is a periodic that tells the case about its runs.
type ticker struct {
	e    *env
	runs chan time.Time
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
	k.runs <- now
	return k.err
}

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

// oncePerTick waits for n runs and fails the case where there were more runs than ticks of a second since from.
func (k *ticker) oncePerTick(from time.Time, n int) {
	k.e.Helper()
	var last time.Time
	for range n {
		last = k.next()
	}
	if ticks := int(last.Unix() - from.Unix() + 1); n > ticks {
		k.e.Errorf("%d runs in %d ticks", n, ticks)
	}
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

func periodicOncePerTick(e *env) {
	shop, reports := e.ticker(), e.ticker()
	from := e.now()
	for range 2 {
		e.start(Spec{App: "shop", Periodics: []jobs.Periodic{shop.every("sweep", time.Second)}})
	}
	e.start(Spec{App: "reports", Periodics: []jobs.Periodic{reports.every("sweep", time.Second)}})
	shop.oncePerTick(from, 5)
	reports.oncePerTick(from, 3)
}

func periodicSurvivesRestart(e *env) {
	k := e.ticker()
	from := e.now()
	spec := Spec{Periodics: []jobs.Periodic{k.every("sweep", time.Second)}}
	first := e.start(spec)
	k.next()
	e.result(first, defaultApp, "sweep", "ok")
	e.ok(first.Stop(e.ctx), "stop")
	second := e.create(spec)
	before := e.status(second, defaultApp, "sweep")
	if before.LastSlot == nil || before.LastRunAt == nil || before.LastResult != "ok" || before.LastJob == "" {
		e.Fatalf("after a restart the periodic shows %+v", before)
	}
	ran := 1 + len(k.runs)
	e.begin(second)
	if ticks := int(k.next().Unix()-from.Unix()) + 1; ran+1 > ticks {
		e.Errorf("%d runs in %d ticks: a tick ran again after the restart", ran+1, ticks)
	}
	e.eventually(func() (bool, string) {
		after := e.status(second, defaultApp, "sweep")
		return after.LastSlot != nil && after.LastSlot.After(*before.LastSlot), fmt.Sprintf("the last slot is %v", after.LastSlot)
	})
}

func periodicPause(e *env) {
	paused, other := e.ticker(), e.ticker()
	spec := Spec{Periodics: []jobs.Periodic{paused.every("paused", time.Second), other.every("other", time.Second)}}
	i := e.start(spec)
	e.start(spec)
	paused.next()
	in := i.Inspector()
	e.ok(in.PausePeriodic(e.ctx, defaultApp, "paused"), "pause")
	e.ok(in.PausePeriodic(e.ctx, defaultApp, "paused"), "pause again")
	if status := e.status(i, defaultApp, "paused"); !status.Paused || status.Next != nil {
		e.Errorf("a paused periodic shows paused: %v, next: %v", status.Paused, status.Next)
	}
	at := e.now()
	for began := other.next(); began.Before(at.Add(2 * time.Second)); began = other.next() {
	}
	var late time.Time
	for len(paused.runs) > 0 {
		late = paused.next()
	}
	if late.After(at.Add(time.Second)) { // a tick begun before the pause may run out
		e.Errorf("the periodic ran %s after its pause", late.Sub(at))
	}
	resumed := e.now()
	e.ok(in.ResumePeriodic(e.ctx, defaultApp, "paused"), "resume")
	paused.oncePerTick(resumed, 2)
	if status := e.status(i, defaultApp, "paused"); status.Paused || status.Next == nil {
		e.Errorf("a resumed periodic shows paused: %v, next: %v", status.Paused, status.Next)
	}
}

func periodicByHand(e *env) {
	k := e.ticker()
	i := e.start(Spec{App: "shop", Periodics: []jobs.Periodic{k.cron("yearly", "0 0 29 2 *")}})
	panel := e.start(Spec{App: "panel"})
	for n, from := range []*instance{i, panel, i} {
		if n == 2 {
			e.ok(i.Inspector().PausePeriodic(e.ctx, "shop", "yearly"), "pause")
		}
		asked := e.now()
		id, err := from.Inspector().RunPeriodic(e.ctx, "shop", "yearly")
		e.ok(err, "run by hand")
		if began := k.next(); began.Before(asked) {
			e.Errorf("the run began before it was asked for")
		}
		if state, final := from.Wait(e.ctx, id, e.h.Patience); state != jobs.Completed || !final {
			e.Errorf("Wait for the run answered %q, %v", state, final)
		}
		status := e.result(i, "shop", "yearly", "ok")
		if status.LastJob != id || status.LastRunAt == nil || status.LastRunAt.Before(asked.Add(-time.Millisecond)) {
			e.Errorf("after a run by hand as job %s the periodic shows %+v", id, status)
		}
	}
	if n := len(k.runs); n != 0 {
		e.Errorf("there were %d runs too many", n)
	}
}

func periodicFailure(e *env) {
	k := e.ticker().failing(jobs.Discard(errors.New("the cellar is wet")))
	i := e.start(Spec{Periodics: []jobs.Periodic{k.cron("yearly", "0 0 29 2 *")}})
	id, err := i.Inspector().RunPeriodic(e.ctx, defaultApp, "yearly")
	e.ok(err, "run by hand")
	e.ends(i, id, jobs.Discarded)
	status := e.result(i, defaultApp, "yearly", "failed")
	if !strings.Contains(status.LastError, "the cellar is wet") {
		e.Errorf("the last error is %q", status.LastError)
	}
}

func periodicStatus(e *env) {
	k := e.ticker()
	i := e.start(Spec{App: "shop", Periodics: []jobs.Periodic{k.every("hourly", time.Hour), k.cron("nightly", "30 2 * * *")}})
	e.start(Spec{App: "reports", Periodics: []jobs.Periodic{k.every("minutely", time.Minute)}})
	now := e.now()
	for _, want := range []struct {
		app, name, schedule string
		step, offset        time.Duration
	}{
		{"shop", "hourly", "every 1h0m0s", time.Hour, 0},
		{"shop", "nightly", "30 2 * * *", 24 * time.Hour, 150 * time.Minute},
		{"reports", "minutely", "every 1m0s", time.Minute, 0},
	} {
		status := e.status(i, want.app, want.name)
		if status.Schedule != want.schedule || status.Paused {
			e.Errorf("%s shows schedule %q, paused: %v; want %q", want.name, status.Schedule, status.Paused, want.schedule)
		}
		if status.Next == nil {
			e.Errorf("%s shows no next run", want.name)
			continue
		}
		next := status.Next.UTC()
		aligned := time.Duration(next.UnixNano()) % want.step
		if aligned != want.offset || next.Before(now.Add(-time.Second)) || next.After(now.Add(want.step+time.Second)) {
			e.Errorf("%s is next at %s, want the coming multiple of %s plus %s", want.name, next, want.step, want.offset)
		}
	}
}

func periodicNotFound(e *env) {
	i := e.create(Spec{App: "shop", Periodics: []jobs.Periodic{e.ticker().every("hourly", time.Hour)}})
	for _, name := range [][2]string{{"shop", "nothing"}, {"nobody", "hourly"}, {"", ""}} {
		_, run := i.Inspector().RunPeriodic(e.ctx, name[0], name[1])
		pause := i.Inspector().PausePeriodic(e.ctx, name[0], name[1])
		resume := i.Inspector().ResumePeriodic(e.ctx, name[0], name[1])
		for what, err := range map[string]error{"RunPeriodic": run, "PausePeriodic": pause, "ResumePeriodic": resume} {
			if !errors.Is(err, jobs.ErrNotFound) {
				e.Errorf("%s of %q answered %v, want ErrNotFound", what, name, err)
			}
		}
	}
}

func periodicBadSchedule(e *env) {
	k := e.ticker()
	both := k.every("both", time.Hour)
	both.Cron = "@hourly"
	for _, bad := range []jobs.Periodic{
		k.cron("seconds", "* * * * * *"), k.cron("words", "every day"), k.cron("range", "61 * * * *"),
		k.every("short", time.Millisecond), k.every("never", 0), both, {Name: "empty", Every: time.Hour},
	} {
		_, err := e.tryNew(Spec{Periodics: []jobs.Periodic{bad}})
		if !errors.Is(err, jobs.ErrInvalid) || !strings.Contains(err.Error(), bad.Name) {
			e.Errorf("periodic %q was answered with %v, want ErrInvalid that names it", bad.Name, err)
		}
	}
	twice := []jobs.Periodic{k.every("twice", time.Hour), k.every("twice", time.Minute)}
	if _, err := e.tryNew(Spec{Periodics: twice}); !errors.Is(err, jobs.ErrInvalid) {
		e.Errorf("two periodics of one name were answered with %v, want ErrInvalid", err)
	}
}
