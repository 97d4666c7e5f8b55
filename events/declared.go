package events

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// DeclaredType is an event type as it stands in the database.
type DeclaredType struct {
	Type
	// App is the application that declared it, "" for one declared in SQL.
	App string
}

// DeclaredSubscription is an active subscription as relays see it: the union of what living versions declare.
type DeclaredSubscription struct {
	Name string
	// App is the application that owns it, "" for a shared one.
	App    string
	Shared bool
	// Types are its globs, without repetition.
	Types    []string
	Coalesce bool
	// Batch is how many events of a pass share one job, at most; 0 where each has its own.
	Batch       int
	Effect      Effect
	Queue       string
	MaxAttempts int
	// SeenAt is when an instance that declares it was seen last; 24 hours later nothing is fanned out to it any more.
	SeenAt time.Time
}

// Types answers every declared event type by name, of all applications and of SQL.
func (b *Bus) Types(ctx context.Context) ([]DeclaredType, error) {
	rows, err := queries(b.pool).DeclaredTypes(ctx)
	if err != nil {
		return nil, fmt.Errorf("read declared event types: %w", err)
	}
	types := make([]DeclaredType, len(rows))
	for i, r := range rows {
		types[i] = DeclaredType{App: r.App, Type: Type{
			Name: r.Name, Description: r.Description, Subject: r.Subject, Exposure: Exposure(r.Exposure),
		}}
	}
	return types, nil
}

// Subscriptions answers the active subscriptions by name, of all applications.
func (b *Bus) Subscriptions(ctx context.Context) ([]DeclaredSubscription, error) {
	targets, err := readTargets(ctx, b.pool)
	if err != nil {
		return nil, err
	}
	subs := make([]DeclaredSubscription, len(targets))
	for i, t := range targets {
		types := slices.Sorted(slices.Values(t.types))
		subs[i] = DeclaredSubscription{
			Name: t.name, App: t.app, Shared: t.app == sharedApp, Types: slices.Compact(types), Coalesce: t.coalesce, Batch: t.batch,
			Effect: t.effect, Queue: t.queue, MaxAttempts: t.maxAttempts, SeenAt: t.seen.UTC(),
		}
	}
	return subs, nil
}
