package mail

import (
	"time"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/jobs"
)

// Names of mail's own subscription, kind, queues and event type.
const (
	// Fanout is the subscription whose job makes an event's mails.
	Fanout = "mail.rules"
	// Notify is the kind whose job sends one.
	Notify = "owner.notify"

	FanoutQueue = "mail_rules"
	NotifyQueue = "notify"

	// Test is the type of the event that SendTest records.
	Test = "mail.test"
)

// Queues are mail's queues with their workers in one process. Waiting for the server holds no connection to the database.
func Queues() map[string]int { return map[string]int{FanoutQueue: 2, NotifyQueue: 2} }

const (
	// fanoutAttempts is how often an event's fan-out may fail; its failures are the database's. The migration says it too.
	fanoutAttempts = 1000
	notifyAttempts = 8
)

// Subscriptions has the one subscription by which events become mails. Its types are those of the rules, and are kept by the triggers
// on their table.
func (s *Service) Subscriptions() []events.Subscription {
	return []events.Subscription{{
		Name: Fanout, Kept: true, Shared: true, Effect: events.Mail, Queue: FanoutQueue, MaxAttempts: fanoutAttempts,
		Timeout: 30 * time.Second, Backoff: jobs.Exponential(time.Second, 2, time.Minute), Handle: s.fanOut,
	}}
}

// Kinds are the job kinds beside the subscription's.
func (s *Service) Kinds() []jobs.Kind {
	return []jobs.Kind{{
		Name: Notify, Queue: NotifyQueue, MaxAttempts: notifyAttempts, Timeout: s.cfg.Timeout + 30*time.Second, Backoff: s.cfg.Backoff,
		Handle: s.notify,
	}}
}

// Periodics are mail's own work by the clock.
func (s *Service) Periodics() []jobs.Periodic {
	return []jobs.Periodic{
		{Name: "mail.sweep", Every: time.Minute, Run: s.sweep},
		{Name: "mail.slots", Every: time.Hour, Run: s.pruneSlots},
	}
}
