package jobstest

import (
	"context"

	"github.com/postbus/postbus/jobs"
)

func pauseCases() []Case {
	cases := []Case{
		{Name: "stops-fetching-everywhere", run: pauseEverywhere,
			Sentence: "Pause stops fetching from a queue in every process, those that start later too; Resume ends that."},
		{Name: "running-go-on", run: pauseRunningGoOn,
			Sentence: "Jobs that run when their queue is paused go on to their end."},
		{Name: "one-queue-only", run: pauseOneQueue,
			Sentence: "A paused queue delays no other."},
	}
	for n := range cases {
		cases[n].Topic, cases[n].Needs = "pause", PauseQueues
	}
	return cases
}

// paused pauses the queue and waits until it shows.
func (e *env) paused(i *instance, queue string) {
	e.Helper()
	e.ok(i.Inspector().Pause(e.ctx, queue), "pause queue "+queue)
	if !e.queue(i, queue).Paused {
		e.Errorf("queue %s does not show that it is paused", queue)
	}
}

func pauseEverywhere(e *env) {
	p := e.probe(nil)
	plain := p.kind("plain")
	one := e.startKinds(plain)
	two := e.startKinds(plain)
	e.endsAll(one, e.enqueueN(one, "plain", 4, jobs.EnqueueOpts{}), jobs.Completed)
	e.paused(one, "plain")
	e.paused(two, "plain") // again, from elsewhere
	waiting := e.untilStill(two)
	ran := p.count()
	waiting = append(waiting, e.enqueueN(one, "plain", 4, jobs.EnqueueOpts{})...)
	three := e.startKinds(plain)
	e.pass()
	p.ran(ran)
	for _, id := range waiting {
		if job := e.get(two, id); job.State != jobs.Pending || job.Attempt != 0 {
			e.Errorf("a job of a paused queue is %s after %d attempts", job.State, job.Attempt)
		}
	}
	e.ok(two.Inspector().Resume(e.ctx, "plain"), "resume")
	if e.queue(one, "plain").Paused {
		e.Errorf("the resumed queue shows that it is paused")
	}
	e.endsAll(three, waiting, jobs.Completed)
}

// untilStill makes jobs of kind "plain", one after the other, until one is left alone: the pause has come through to all.
func (e *env) untilStill(i *instance) []jobs.JobID {
	e.Helper()
	var left jobs.JobID
	e.eventually(func() (bool, string) {
		left = e.enqueue(i, "plain", number(0))
		e.pass()
		return e.get(i, left).State == jobs.Pending, "jobs of a paused queue still run"
	})
	return []jobs.JobID{left}
}

func pauseRunningGoOn(e *env) {
	hold := e.gate()
	p := e.probe(func(ctx context.Context, _ run) error { return hold.pass(ctx) })
	i := e.startKinds(p.kind("held"))
	id := e.enqueue(i, "held", number(1))
	p.next()
	e.paused(i, "held")
	hold.release()
	e.ends(i, id, jobs.Completed)
	p.ran(1)
}

func pauseOneQueue(e *env) {
	p, other := e.probe(nil), e.probe(nil)
	i := e.startKinds(p.kind("plain"), other.kind("other"))
	e.paused(i, "plain")
	e.endsAll(i, e.enqueueN(i, "other", 5, jobs.EnqueueOpts{}), jobs.Completed)
}
