package jobstest

import (
	"errors"
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

func periodicOncePerTick(e *env) {
	shop, reports := e.ticker(), e.ticker()
	for range 2 {
		e.start(Spec{App: "shop", Periodics: []jobs.Periodic{shop.every("sweep", time.Second)}})
	}
	i := e.start(Spec{App: "reports", Periodics: []jobs.Periodic{reports.every("sweep", time.Second)}})
	shop.next()
	reports.next()
	const ticks, behind = 5, 2 // ticks to wait for; runs that may be late when the count begins
	from, before := [2]time.Time{e.lastSlot(i, "shop"), e.lastSlot(i, "reports")}, [2]int{shop.count(), reports.count()}
	for range ticks {
		e.nextSlot(i, "shop")
	}
	for _, app := range []string{"shop", "reports"} { // what has ticked has run
		e.ends(i, e.status(i, app, "sweep").LastJob, jobs.Completed)
	}
	ran := [2]int{shop.count() - before[0], reports.count() - before[1]}
	for n, app := range []string{"shop", "reports"} {
		passed := int(e.lastSlot(i, app).Sub(from[n]) / time.Second)
		if ran[n] > passed+behind || ran[n] == 0 {
			e.Errorf("sweep of %s: %d runs in %d ticks", app, ran[n], passed)
		}
	}
}

func periodicSurvivesRestart(e *env) {
	k := e.ticker()
	spec := Spec{Periodics: []jobs.Periodic{k.every("sweep", time.Second), k.cron("yearly", "0 0 29 2 *")}}
	first := e.start(spec)
	k.next()
	id, err := first.Inspector().RunPeriodic(e.ctx, defaultApp, "yearly")
	e.ok(err, "run by hand")
	e.ends(first, id, jobs.Completed)
	e.result(first, defaultApp, "yearly", "ok")
	e.ok(first.Stop(e.ctx), "stop")
	second := e.create(spec)
	if status := e.status(second, defaultApp, "yearly"); status.LastRunAt == nil || status.LastResult == "" || status.LastJob == "" {
		e.Fatalf("after a restart yearly shows %+v", status)
	}
	// The stop may have come between a tick and its run.
	if status := e.status(second, defaultApp, "sweep"); status.LastSlot == nil || status.LastJob == "" {
		e.Fatalf("after a restart sweep shows %+v", status)
	}
	before := e.lastSlot(second, defaultApp)
	ran := k.count()
	e.begin(second)
	e.eventually(func() (bool, string) { return k.count() > ran, "the periodic has not run since the restart" })
	if after := e.lastSlot(second, defaultApp); !after.After(before) {
		e.Errorf("a tick ran again after the restart: the last is %s, and was %s", after, before)
	}
	if status := e.status(second, defaultApp, "yearly"); status.LastJob != id || status.LastResult != "ok" {
		e.Errorf("after a restart yearly shows %+v, want job %s, ok", status, id)
	}
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
	for began := other.next(); began.Before(at.Add(3 * time.Second)); began = other.next() {
	}
	var late time.Time
	for len(paused.runs) > 0 {
		late = paused.next()
	}
	if late.After(at.Add(time.Second)) { // a tick begun before the pause may run out
		e.Errorf("the periodic ran %s after its pause", late.Sub(at))
	}
	e.ok(in.ResumePeriodic(e.ctx, defaultApp, "paused"), "resume")
	paused.next()
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
