package jobstest

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/postbus/postbus/jobs"
)

// Capabilities lists everything that an adapter may lack.
func Capabilities() []Capability {
	return []Capability{CancelRunning, External, FilterArgs, PauseQueues, Periodics, UniqueByArgs}
}

// Lacking is the case that checks that asking for what an adapter lacks fails cleanly.
func Lacking(lacking Capability) Case {
	check := map[Capability]func(e *env){
		CancelRunning: lacksCancelRunning,
		External:      lacksExternal,
		FilterArgs:    lacksFilterArgs,
		PauseQueues:   lacksPauseQueues,
		Periodics:     lacksPeriodics,
		UniqueByArgs:  lacksUniqueByArgs,
	}[lacking]
	if check == nil {
		check = func(e *env) { e.Fatalf("there is no capability %q", lacking) }
	}
	return Case{Topic: "lacks", Name: string(lacking), run: check,
		Sentence: "What an adapter lacks it refuses with errors.ErrUnsupported, and changes nothing."}
}

// unsupported fails the case where err is not that of something the adapter lacks.
func (e *env) unsupported(err error, what string) {
	e.Helper()
	if !errors.Is(err, errors.ErrUnsupported) {
		e.Errorf("%s answered %v, want errors.ErrUnsupported", what, err)
	}
}

func lacksCancelRunning(e *env) {
	hold := e.gate()
	p := e.probe(func(ctx context.Context, _ run) error { return hold.pass(ctx) })
	i := e.startKinds(p.kind("held"))
	id := e.enqueue(i, "held", number(1))
	p.next()
	_, err := i.Inspector().Cancel(e.ctx, id)
	e.unsupported(err, "Cancel of a running job")
	hold.release()
	e.ends(i, id, jobs.Completed)
}

func lacksFilterArgs(e *env) {
	i := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("plain")}})
	id := e.enqueue(i, "plain", number(1))
	filter := jobs.Filter{Args: json.RawMessage(`{"n": 2}`)}
	_, err := i.Inspector().List(e.ctx, filter)
	e.unsupported(err, "List by args")
	_, err = i.Inspector().CancelMany(e.ctx, filter)
	e.unsupported(err, "CancelMany by args")
	_, err = i.Inspector().Count(e.ctx, filter)
	e.unsupported(err, "Count by args")
	_, err = i.Inspector().ListIDs(e.ctx, filter)
	e.unsupported(err, "ListIDs by args")
	if state := e.get(i, id).State; state != jobs.Pending {
		e.Errorf("a job that does not match is %s", state)
	}
}

func lacksPauseQueues(e *env) {
	i := e.startKinds(e.probe(nil).kind("plain"))
	e.unsupported(i.Inspector().Pause(e.ctx, "plain"), "Pause")
	e.unsupported(i.Inspector().Resume(e.ctx, "plain"), "Resume")
	e.ends(i, e.enqueue(i, "plain", number(1)), jobs.Completed)
}

func lacksPeriodics(e *env) {
	run := func(context.Context) error { return nil }
	_, err := e.tryNew(Spec{Periodics: []jobs.Periodic{{Name: "hourly", Every: time.Hour, Run: run}}})
	e.unsupported(err, "New with a periodic")
	in := e.create(Spec{}).Inspector()
	_, err = in.RunPeriodic(e.ctx, defaultApp, "hourly")
	e.unsupported(err, "RunPeriodic")
	e.unsupported(in.PausePeriodic(e.ctx, defaultApp, "hourly"), "PausePeriodic")
	if all, err := in.Periodics(e.ctx); len(all) != 0 || err != nil && !errors.Is(err, errors.ErrUnsupported) {
		e.Errorf("Periodics answered %d of them, %v", len(all), err)
	}
}

func lacksUniqueByArgs(e *env) {
	i := e.create(Spec{Kinds: []jobs.Kind{e.probe(nil).kind("plain")}})
	_, err := i.Enqueue(e.ctx, "plain", number(1), once)
	e.unsupported(err, "Enqueue with UniqueByArgs")
	_, err = i.EnqueueMany(e.ctx, []jobs.EnqueueParams{{Kind: "plain", Args: number(1), Opts: once}})
	e.unsupported(err, "EnqueueMany with UniqueByArgs")
	e.noneOf(i, "plain")
}
