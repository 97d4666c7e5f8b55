package webhooks

import (
	"context"
	"time"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/jobs"
)

// Names of webhooks' own subscription, kind, queues and event types.
const (
	Fanout  = "webhook.fanout"
	Deliver = "webhook.deliver"

	FanoutQueue  = "webhook_fanout"
	DeliverQueue = "webhook"
	// FailingQueue runs the lanes of failing endpoints, so that they never use up the workers of the others.
	FailingQueue = "webhook_failing"

	EndpointDisabled = "webhook.endpoint.disabled"
	Test             = "webhook.test"
)

// Queues are webhooks' queues with their workers in one process. Waiting for an answer holds no connection, so they may be many.
func Queues() map[string]int {
	return map[string]int{FanoutQueue: 4, DeliverQueue: 32, FailingQueue: 8}
}

// own is how often a job of webhooks' own may fail before it is given up. Its failures are the database's, not a receiver's.
const own = 1000

// Subscriptions has the one subscription by which events reach the endpoints. Every application with webhooks declares it.
func (s *Service) Subscriptions() []events.Subscription {
	return []events.Subscription{{
		Name: Fanout, Types: []string{"*"}, Shared: true, Effect: events.Delivery, Queue: FanoutQueue, MaxAttempts: own,
		Timeout: 30 * time.Second, Backoff: jobs.Exponential(time.Second, 2, time.Minute), Handle: s.fanOut,
	}}
}

// Kinds are the job kinds beside the subscription's.
func (s *Service) Kinds() []jobs.Kind {
	return []jobs.Kind{{
		Name: Deliver, Queue: DeliverQueue, MaxAttempts: own, Timeout: laneSlice + 2*s.lease(),
		Backoff: jobs.Exponential(time.Second, 2, time.Minute), Handle: s.runLane,
	}}
}

// resealAll moves what an older key sealed to the current one, so that the older can be dropped.
func (s *Service) resealAll(ctx context.Context) error {
	_, err := s.Reseal(ctx)
	return err
}

// Periodics are webhooks' own work by the clock.
func (s *Service) Periodics() []jobs.Periodic {
	return []jobs.Periodic{
		{Name: "webhooks.sweep", Every: time.Minute, Run: s.sweep},
		{Name: "webhooks.retention", Every: time.Hour, Run: s.pruneAttempts, Timeout: 30 * time.Minute},
		{Name: "webhooks.reseal", Every: time.Hour, Run: s.resealAll, Timeout: 30 * time.Minute},
	}
}
