package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/postbus/postbus/internal/tracing"
	"github.com/postbus/postbus/jobs"
)

// Kinds are the job kinds that run the subscriptions and walk the replays; hand them to the runtime.
func (b *Bus) Kinds() []jobs.Kind {
	kinds := slices.Clone(b.kinds)
	for _, t := range b.replayTargets {
		kinds = append(kinds, b.replayKind(t))
	}
	return kinds
}

// Periodics are the bus's own work by the clock; hand them to the runtime.
func (b *Bus) Periodics() []jobs.Periodic {
	return []jobs.Periodic{
		{Name: "events.sweep", Every: time.Minute, Run: b.poke},
		{Name: "events.retention", Every: time.Hour, Run: b.prune, Timeout: 30 * time.Minute},
	}
}

// Bind gives the bus the runtime in which its jobs are made. It must be called before Start.
func (b *Bus) Bind(runtime jobs.Runtime) { b.runtime = runtime }

// Recorder writes events through the pool; use its With for a transaction.
func (b *Bus) Recorder() Recorder {
	return b.recorder(b.pool)
}

// Start begins to relay. The declarations must be in the database: see Declare.
func (b *Bus) Start(ctx context.Context) error {
	if b.runtime == nil {
		return errors.New("events: Bind a runtime before Start")
	}
	ctx = tracing.Detach(ctx) // what is done from now on is not part of the start
	b.mirror.start(ctx)
	b.await.start(ctx)
	b.relay.start(ctx)
	b.watch.start(ctx)
	return nil
}

// StopRelay ends the relay after its current pass; waiters go on. Never started and twice are fine.
func (b *Bus) StopRelay() { b.relay.stop() }

// Stop ends the relay, the watch of alerts, the heartbeat and the waiters. Never started and twice are fine.
func (b *Bus) Stop() {
	b.relay.stop()
	b.watch.stop()
	b.mirror.stop()
	b.await.stop()
}

// poke wakes every process's relay. It covers a notification that was lost.
func (b *Bus) poke(ctx context.Context) error {
	b.relay.wake()
	return queries(b.pool).NotifyEvents(ctx)
}

// jobArgs are all that a subscription's job carries; the event is loaded when the job runs. A wide job names the range in which its
// events lie, those whose fan-out names it, and no event.
type jobArgs struct {
	EventID      string `json:"event_id,omitempty"`
	Subscription string `json:"subscription"`
	FirstSeq     int64  `json:"first_seq,omitempty"`
	LastSeq      int64  `json:"last_seq,omitempty"`
	Events       int    `json:"events,omitempty"`
}

// handle loads the event of a job, or those of a wide one, and hands them to the subscription's handler.
func (b *Bus) handle(s Subscription, timeout time.Duration) jobs.Handler {
	h := handler{bus: b, sub: s, timeout: timeout}
	return func(ctx context.Context, raw json.RawMessage) error {
		var args jobArgs
		if err := json.Unmarshal(raw, &args); err != nil || args.EventID == "" && args.Events == 0 {
			return jobs.Discard(fmt.Errorf("job of subscription %q carries no event id: %s", s.Name, raw))
		}
		if args.EventID == "" {
			return h.wide(ctx, args)
		}
		event, err := b.loader.get(ctx, args.EventID)
		if errors.Is(err, ErrNotFound) {
			return jobs.Discard(err)
		}
		if err != nil {
			return err
		}
		return h.one(ctx, event)
	}
}
