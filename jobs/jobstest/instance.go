package jobstest

import (
	"context"
	"maps"
	"time"

	"github.com/postbus/postbus/jobs"
)

// instance is one running process of one application, as the suite sees it.
type instance struct {
	jobs.Runtime
	link *link
}

// kill ends the instance as a crash does: from here on nothing of it reaches the database. Its handlers still run in
// memory; what they come to is lost.
func (i *instance) kill() { i.link.sever() }

// heal gives a killed instance its network back, as after a partition.
func (i *instance) heal() { i.link.mend() }

// deafen swallows every notification to the instance from here on.
func (i *instance) deafen() { i.link.deaf.Store(true) }

const (
	defaultApp     = "shop"
	defaultWorkers = 4
	defaultGrace   = 2 * time.Second
)

// withDefaults names the application, the instance and every kind's queue.
func (s Spec) withDefaults(instance string) Spec {
	if s.App == "" {
		s.App = defaultApp
	}
	s.Instance = instance
	if s.Grace == 0 {
		s.Grace = defaultGrace
	}
	queues := map[string]int{}
	for _, kind := range s.Kinds {
		if kind.External {
			continue
		}
		queue := kind.Queue
		if queue == "" {
			queue = jobs.DefaultQueue
		}
		queues[queue] = defaultWorkers
	}
	maps.Copy(queues, s.Queues)
	s.Queues = queues
	return s
}

// stopAtEnd stops what may still run when the case is over, within its grace and a little.
func (e *env) stopAtEnd(runtime jobs.Runtime, grace time.Duration) {
	e.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), grace+e.h.Patience)
		defer cancel()
		_ = runtime.Stop(ctx)
	})
}
