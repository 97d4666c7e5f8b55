package events

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/postbus/postbus/internal/tracing"
	"github.com/postbus/postbus/jobs"
)

// handler calls a subscription's handler.
type handler struct {
	bus     *Bus
	sub     Subscription
	timeout time.Duration // of one event
}

// errSlow is why the context of an event ended that took longer than the subscription's Timeout.
var errSlow = errors.New("timed out")

// one handles one event in a job of its own.
func (h handler) one(ctx context.Context, e Event) error {
	if h.sub.Batch <= 1 {
		return h.sub.Handle(ctx, e)
	}
	err := h.bounded(ctx, []Event{e})
	var failed Failed
	if errors.As(err, &failed) && failed.within([]Event{e}) {
		return failed[e.ID]
	}
	return err
}

// traced handles one event of a wide job in the trace that the event carries.
func (h handler) traced(ctx context.Context, job jobs.JobID, e Event) error {
	ctx, span := h.bus.cfg.Tracing.Job(ctx, e.Trace, tracing.Run{ID: string(job), Kind: h.sub.Name, Queue: h.sub.Queue, Attempt: 1})
	err := h.bounded(ctx, []Event{e})
	if err != nil {
		span.EndJob("failed", "failed")
		return err
	}
	span.EndJob("completed", "")
	return nil
}

// bounded calls the handler, or the HandleAll, for at most the time that an event may take. A panic is an error.
func (h handler) bounded(ctx context.Context, events []Event) (err error) {
	outer := ctx
	if h.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, h.timeout, errSlow)
		defer stop()
	}
	defer func() {
		if value := recover(); value != nil {
			err = jobs.Panicked(value, debug.Stack())
		}
	}()
	if h.sub.HandleAll != nil {
		err = h.sub.HandleAll(ctx, events)
	} else {
		err = h.sub.Handle(ctx, events[0])
	}
	_, snoozed := jobs.SnoozedFor(err)
	if err != nil && outer.Err() == nil && errors.Is(context.Cause(ctx), errSlow) && !snoozed && !jobs.IsDiscard(err) {
		return fmt.Errorf("%w after %s: %w", errSlow, h.timeout, err)
	}
	return err
}
