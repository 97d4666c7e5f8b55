package loop

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"
)

const defaultTimeout = time.Minute

// Ticker calls Once when started, then after every Interval and every Wake, until Stop.
// The fields must not change after Start. A Ticker must not be copied.
type Ticker struct {
	// Name says in the log which loop speaks.
	Name string
	// Interval is the time from the end of one pass to the beginning of the next, give or take
	// 10 %. Zero means that only a Wake brings the next pass.
	Interval time.Duration
	// Once makes one pass. Its error is logged here and nowhere else.
	Once func(ctx context.Context) error
	// Timeout bounds one pass: on a connection that went silent it would hang for ever. Defaults to 1 min.
	Timeout time.Duration
	// Log defaults to slog.Default().
	Log *slog.Logger
	// BackoffBase is the wait after the first failure; it doubles with each one that follows and
	// is reset by a success. Defaults to 2 s.
	BackoffBase time.Duration
	// BackoffMax bounds the wait after a failure. Defaults to 1 min.
	BackoffMax time.Duration

	runner Runner
	init   sync.Once
	wake   chan struct{}
}

// Start begins the passes. It does nothing while the ticker runs. The passes end with ctx, too.
func (t *Ticker) Start(ctx context.Context) {
	t.prepare()
	t.runner.Start(ctx, t.run)
}

// Stop cancels a pass that is under way, waits for it and makes no more.
func (t *Ticker) Stop() { t.runner.Stop() }

// Wake asks for a pass that begins after this call. It never blocks.
func (t *Ticker) Wake() {
	t.prepare()
	select {
	case t.wake <- struct{}{}:
	default: // the pass asked for earlier has not begun: it serves both
	}
}

func (t *Ticker) prepare() {
	t.init.Do(func() {
		t.wake = make(chan struct{}, 1)
		t.runner.Name, t.runner.Log = t.Name, t.Log
	})
}

func (t *Ticker) run(ctx context.Context) {
	backoff := Backoff{Base: t.BackoffBase, Max: t.BackoffMax}
	for ctx.Err() == nil {
		t.forgetWake() // before the pass: a Wake during it must bring another
		err := t.pass(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			wait := backoff.Next()
			t.runner.logger().ErrorContext(ctx, "pass failed", "loop", t.runner.name(),
				"error", err, "failures", backoff.Failures(), "retry_in", wait.Round(time.Millisecond))
			_ = Sleep(ctx, wait)
			continue
		}
		if backoff.Failures() > 0 {
			t.runner.logger().InfoContext(ctx, "pass succeeds again", "loop", t.runner.name(),
				"failures", backoff.Failures())
			backoff.Reset()
		}
		t.rest(ctx)
	}
}

func (t *Ticker) pass(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(t.Timeout, defaultTimeout))
	defer cancel()
	return guard(ctx, t.Once)
}

func (t *Ticker) forgetWake() {
	select {
	case <-t.wake:
	default:
	}
}

// rest waits for what brings the next pass.
func (t *Ticker) rest(ctx context.Context) {
	var due <-chan time.Time
	if t.Interval > 0 {
		timer := time.NewTimer(Jitter(t.Interval))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
	case <-due:
	case <-t.wake:
	}
}
