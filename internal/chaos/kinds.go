package chaos

import (
	"context"
	"slices"
	"time"

	"github.com/postbus/postbus/internal/loop"
)

// The lanes of a plan. Faults of one lane do not overlap.
const (
	processLane = "process"
	networkLane = "network"
	sinkLane    = "sink"
	serverLane  = "server"
)

var lanes = []string{processLane, networkLane, sinkLane, serverLane}

// kind is one kind of fault.
type kind struct {
	name, lane  string
	least, most time.Duration
	// begin makes it and answers what ends it. What it says is retried where it fails, so it must not mind being done twice.
	begin func(ctx context.Context, w *world, f *Fault) (end func(ctx context.Context) error, err error)
	// hits says whose next event shows that it is over. Defaults to anybody's.
	hits victim
}

// victim is who has to recover.
type victim int

const (
	anybody victim = iota
	oneBus
	theWorker
	theSink
)

// allKinds lists every kind; those of a clock that is off only where there is a program for them.
func allKinds(clock bool) []kind {
	all := slices.Concat(processKinds(), networkKinds(), sinkKinds(), serverKinds())
	if clock {
		return all
	}
	return slices.DeleteFunc(all, func(k kind) bool { return k.name == "clock" })
}

const second = time.Second

// repeated makes a fault of something that is done again and again. Its errors are part of the fault.
func repeated(ctx context.Context, every time.Duration, once func(ctx context.Context)) (end func(context.Context) error) {
	runner := &loop.Runner{Name: "fault"}
	runner.Start(ctx, func(ctx context.Context) {
		for ctx.Err() == nil {
			once(ctx)
			_ = loop.Sleep(ctx, loop.Jitter(every))
		}
	})
	return func(context.Context) error { runner.Stop(); return nil }
}
