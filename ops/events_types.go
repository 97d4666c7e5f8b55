package ops

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/dbsqlc/opssql"
)

// EventType is a declared event type.
type EventType struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Subject     string `json:"subject,omitempty" doc:"What an event's subject is"`
	Exposure    string `json:"exposure" enum:"internal,webhook" doc:"internal never leaves as a webhook"`
	App         string `json:"app,omitempty" doc:"The application that declares it; left out for one declared by hand"`
}

// EventTypeSpec declares a type by hand.
type EventTypeSpec struct {
	Name        string `json:"name" doc:"Dotted lower-case words, for instance corpus.note_changed" minLength:"1" maxLength:"120" pattern:"^[a-z0-9_]+(\\.[a-z0-9_]+)*$"`
	Description string `json:"description,omitempty"`
	Subject     string `json:"subject,omitempty" doc:"What an event's subject is, for instance note id"`
	Exposure    string `json:"exposure,omitempty" enum:"internal,webhook" doc:"internal when left out"`
}

// EventSubscription is an active subscription.
type EventSubscription struct {
	Name        string    `json:"name"`
	App         string    `json:"app,omitempty" doc:"The application that owns it; left out for a shared one"`
	Shared      bool      `json:"shared,omitempty"`
	Types       []string  `json:"types" doc:"Globs over event types"`
	Coalesce    bool      `json:"coalesce,omitempty"`
	Batch       int       `json:"batch,omitempty" doc:"How many events of a pass share one job, at most; left out where each has its own"`
	Effect      string    `json:"effect,omitempty" enum:"mail,webhook"`
	Queue       string    `json:"queue"`
	MaxAttempts int       `json:"max_attempts"`
	SeenAt      time.Time `json:"seen_at" doc:"When an instance that declares it was seen last"`
}

func declareEventTypes(r *Registry) error {
	return firstError(
		add(r, Op[Paging, Listed[EventType]]{
			Name: "events.types", Summary: "List the declared event types by name", Access: Read,
			Run: func(ctx context.Context, c *Call, in Paging) (Listed[EventType], error) {
				all, err := c.Events.Types(ctx)
				if err != nil {
					return Listed[EventType]{}, err
				}
				return cut(listed(all, "", declaredOf).Items, "types", in, func(t EventType) string { return t.Name })
			},
		}),
		add(r, Op[Paging, Listed[EventSubscription]]{
			Name: "events.subscriptions", Summary: "List the active subscriptions of all applications by name", Access: Read, Global: true,
			Run: func(ctx context.Context, c *Call, in Paging) (Listed[EventSubscription], error) {
				all, err := c.Events.Subscriptions(ctx)
				if err != nil {
					return Listed[EventSubscription]{}, err
				}
				return cut(listed(all, "", subscriptionOf).Items, "subscriptions", in, func(s EventSubscription) string { return s.Name })
			},
		}),
		add(r, Op[EventTypeSpec, EventType]{
			Name: "events.declare_type", Summary: "Declare an event type that belongs to no application, or change it",
			Access: Admin, Global: true, Idempotent: true, Run: declareType,
		}),
	)
}

// declareType goes through the same function as callers in SQL. What that refuses in its own words is told in them.
func declareType(ctx context.Context, c *Call, in EventTypeSpec) (EventType, error) {
	if in.Exposure == "" {
		in.Exposure = string(events.Internal)
	}
	err := queries(c.Tx).DeclareType(ctx, opssql.DeclareTypeParams{
		Name: in.Name, Description: in.Description, Subject: in.Subject, Exposure: in.Exposure,
	})
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		if why, ours := strings.CutPrefix(refused.Message, "postbus.declare_type: "); ours {
			return EventType{}, newError(refusedAs(refused.Code), "%s", why)
		}
	}
	return EventType{Name: in.Name, Description: in.Description, Subject: in.Subject, Exposure: in.Exposure}, err
}

// refusedAs tells a type that belongs to an application from one that cannot be meant.
func refusedAs(sqlstate string) Code {
	if sqlstate == "42501" {
		return Conflict
	}
	return Invalid
}

func declaredOf(t events.DeclaredType) EventType {
	return EventType{Name: t.Name, Description: t.Description, Subject: t.Subject, Exposure: string(t.Exposure), App: t.App}
}

func subscriptionOf(s events.DeclaredSubscription) EventSubscription {
	out := EventSubscription{
		Name: s.Name, App: s.App, Shared: s.Shared, Types: s.Types, Coalesce: s.Coalesce, Batch: s.Batch, Effect: string(s.Effect),
		Queue: s.Queue, MaxAttempts: s.MaxAttempts, SeenAt: s.SeenAt,
	}
	if s.Shared {
		out.App = ""
	}
	return out
}
