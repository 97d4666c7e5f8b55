package chaos

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// processKinds hit processes.
func processKinds() []kind {
	return []kind{
		{name: "kill", lane: processLane, least: second, most: 8 * second, hits: oneBus, begin: kill},
		{name: "freeze", lane: processLane, least: second, most: 14 * second, hits: oneBus, begin: freeze},
		{name: "clock", lane: processLane, least: 3 * second, most: 10 * second, hits: oneBus, begin: clock},
		{name: "kill worker", lane: processLane, least: second / 2, most: 6 * second, hits: theWorker, begin: killWorker},
	}
}

// kill is SIGKILL; the process is started again at the end.
func kill(_ context.Context, w *world, f *Fault) (func(context.Context) error, error) {
	p := w.buses[f.Target]
	p.kill()
	return func(context.Context) error { return p.start() }, nil
}

func killWorker(_ context.Context, w *world, _ *Fault) (func(context.Context) error, error) {
	w.worker.kill()
	return func(context.Context) error { return w.worker.start() }, nil
}

// freeze is SIGSTOP: from some seconds on the others take the process for dead, and at the end it goes on as if nothing had been.
func freeze(_ context.Context, w *world, f *Fault) (func(context.Context) error, error) {
	p := w.buses[f.Target]
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return nil, err
	}
	return func(context.Context) error { return p.signal(syscall.SIGCONT) }, nil
}

// clock runs one process with a wall clock that is off by up to three hours either way.
func clock(_ context.Context, w *world, f *Fault) (func(context.Context) error, error) {
	p := w.buses[f.Target]
	off := time.Duration(f.Chance%uint64(3*time.Hour/time.Second)) * time.Second
	if f.Chance>>63 == 1 {
		off = -off
	}
	p.kill()
	if err := p.startAs(w.clockBinary, fmt.Sprintf("%s=%d", clockEnv, int64(off/time.Second))); err != nil {
		return nil, err
	}
	return func(context.Context) error {
		p.kill()
		return p.start()
	}, nil
}
