package faults

import (
	"context"
	"errors"

	"github.com/postbus/postbus/jobs"
)

// lasting are faults of time passing: clocks, restarts, deaths.
func lasting() []Fault {
	return []Fault{
		{Name: "a periodic runs twice a tick", Case: "periodic/once-per-tick", Says: "runs in", seed: tickTwice},
		{Name: "a periodic forgets what it did", Case: "periodic/survives-restart", Says: "after a restart", seed: tickForgets},
		{Name: "a dead instance's jobs are not rescued", Case: "rescue/killed-instance", Says: "of the kill", seed: func() seed { return seed{deathless: true} }},
	}
}

func tickTwice() seed {
	return seed{tick: func(next func(ctx context.Context) error) func(ctx context.Context) error {
		return func(ctx context.Context) error { return errors.Join(next(ctx), next(ctx)) }
	}}
}

func tickForgets() seed {
	return changed(func(i *inspector) {
		i.periodic = func(status jobs.PeriodicStatus) jobs.PeriodicStatus {
			status.LastJob = ""
			return status
		}
	})
}
