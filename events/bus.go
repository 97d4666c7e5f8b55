package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

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
	return recorder{db: b.pool, maxBytes: b.cfg.MaxDataBytes, trace: b.cfg.Trace}
}

// Start begins to relay. The declarations must be in the database: see Declare.
func (b *Bus) Start(ctx context.Context) error {
	if b.runtime == nil {
		return errors.New("events: Bind a runtime before Start")
	}
	b.mirror.start(ctx)
	b.await.start(ctx)
	b.relay.start(ctx)
	return nil
}

// StopRelay ends the relay after its current pass; waiters go on. Never started and twice are fine.
func (b *Bus) StopRelay() { b.relay.stop() }

// Stop ends the relay, the heartbeat and the waiters. Never started and twice are fine.
func (b *Bus) Stop() {
	b.relay.stop()
	b.mirror.stop()
	b.await.stop()
}

// poke wakes every process's relay. It covers a notification that was lost.
func (b *Bus) poke(ctx context.Context) error {
	b.relay.wake()
	return queries(b.pool).NotifyEvents(ctx)
}

// jobArgs are all that a subscription's job carries; the event is loaded when the job runs.
type jobArgs struct {
	EventID      string `json:"event_id"`
	Subscription string `json:"subscription"`
}

// handle loads the event of a job and hands it to the subscription's handler.
func (b *Bus) handle(s Subscription) jobs.Handler {
	return func(ctx context.Context, raw json.RawMessage) error {
		var args jobArgs
		if err := json.Unmarshal(raw, &args); err != nil || args.EventID == "" {
			return jobs.Discard(fmt.Errorf("job of subscription %q carries no event id: %s", s.Name, raw))
		}
		event, err := b.Get(ctx, args.EventID)
		if errors.Is(err, ErrNotFound) {
			return jobs.Discard(err)
		}
		if err != nil {
			return err
		}
		return s.Handle(ctx, event.Event)
	}
}
