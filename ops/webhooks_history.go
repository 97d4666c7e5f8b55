package ops

import (
	"context"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/webhooks"
)

// EndpointRecovery says of which time what failed is sent again.
type EndpointRecovery struct {
	EndpointID
	Window
}

// EndpointReplay says which events are sent.
type EndpointReplay struct {
	EndpointRecovery
	Types []string `json:"types,omitempty" doc:"Globs; all that the endpoint takes when left out" maxItems:"100"`
}

// AccountFilter selects the events of an account.
type AccountFilter struct {
	OwnerID string `json:"owner_id,omitempty"`
	Window
}

// WebhookAccount balances what was fanned out against what became of it.
type WebhookAccount struct {
	Events      int64    `json:"events" doc:"Events of exposed types that were handed to webhook.fanout"`
	FannedOut   int64    `json:"fanned_out" doc:"Those whose fan-out has run"`
	Outstanding int64    `json:"outstanding" doc:"Those whose fan-out has not run yet"`
	Matched     int64    `json:"matched" doc:"How many pairs of endpoint and event the fan-outs found"`
	Fanout      Outcomes `json:"fanout" doc:"What became of these"`
	Unaccounted int64    `json:"unaccounted" doc:"matched less all of fanout: 0, or something was lost"`
	Replays     Outcomes `json:"replays"`
	Tests       Outcomes `json:"tests"`
}

// Outcomes counts deliveries by state.
type Outcomes struct {
	Delivered      int64            `json:"delivered"`
	Pending        int64            `json:"pending"`
	Discarded      int64            `json:"discarded"`
	Skipped        int64            `json:"skipped"`
	SkipReasons    map[string]int64 `json:"skip_reasons,omitempty"`
	DiscardReasons map[string]int64 `json:"discard_reasons,omitempty"`
}

func declareWebhookHistory(r *Registry) error {
	return firstError(
		add(r, Op[EndpointRecovery, Replay]{
			Name: "webhooks.recover", Summary: "Send again what an endpoint discarded or skipped, in the background", Access: Act,
			Run: func(ctx context.Context, c *Call, in EndpointRecovery) (Replay, error) {
				hooks, _, err := c.endpoint(ctx, in.ID)
				if err != nil {
					return Replay{}, err
				}
				replay, err := hooks.Recover(ctx, in.ID, at(in.Since), at(in.Until))
				return replayOf(replay), err
			},
		}),
		add(r, Op[EndpointReplay, Replay]{
			Name: "webhooks.replay", Summary: "Send an endpoint what failed and what it never got, in the background", Access: Act,
			Run: func(ctx context.Context, c *Call, in EndpointReplay) (Replay, error) {
				hooks, _, err := c.endpoint(ctx, in.ID)
				if err != nil {
					return Replay{}, err
				}
				replay, err := hooks.Replay(ctx, in.ID, at(in.Since), at(in.Until), in.Types)
				return replayOf(replay), err
			},
		}),
		add(r, Op[Paging, Listed[EventType]]{
			Name: "webhooks.event_types", Summary: "List the event types that endpoints may ask for, by name", Access: Read, Run: exposedTypes,
		}),
		add(r, Op[AccountFilter, WebhookAccount]{
			Name: "webhooks.account", Summary: "Balance what was fanned out against what became of it", Access: Read, Run: webhookAccount,
		}),
	)
}

func exposedTypes(ctx context.Context, c *Call, in Paging) (Listed[EventType], error) {
	hooks, err := c.hooks()
	if err != nil {
		return Listed[EventType]{}, err
	}
	all, err := hooks.EventTypes(ctx)
	if err != nil {
		return Listed[EventType]{}, err
	}
	types := listed(all, "", func(t events.Type) EventType { return declaredOf(events.DeclaredType{Type: t}) }).Items
	return cut(types, "exposed", in, func(t EventType) string { return t.Name })
}

func webhookAccount(ctx context.Context, c *Call, in AccountFilter) (WebhookAccount, error) {
	hooks, err := c.hooks()
	if err != nil {
		return WebhookAccount{}, err
	}
	owner, err := c.OwnerOr(in.OwnerID)
	if err != nil {
		return WebhookAccount{}, err
	}
	a, err := hooks.Account(ctx, webhooks.AccountFilter{Since: at(in.Since), Until: at(in.Until), OwnerID: owner})
	return WebhookAccount{
		Events: a.Events, FannedOut: a.FannedOut, Outstanding: a.Outstanding, Matched: a.Matched, Fanout: outcomesOf(a.Fanout),
		Unaccounted: a.Unaccounted, Replays: outcomesOf(a.Replays), Tests: outcomesOf(a.Tests),
	}, err
}

func outcomesOf(o webhooks.Outcomes) Outcomes {
	return Outcomes{
		Delivered: o.Delivered, Pending: o.Pending, Discarded: o.Discarded, Skipped: o.Skipped,
		SkipReasons: o.SkipReasons, DiscardReasons: o.DiscardReasons,
	}
}
