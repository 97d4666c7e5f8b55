package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
)

// AccountFilter selects the events that occurred at or after Since and before Until. Zero times do not bound; an empty owner is
// every owner.
type AccountFilter struct {
	Since, Until time.Time
	OwnerID      string
}

// Account is the balance of a time range, read in one statement and so of one moment.
type Account struct {
	// Events are those of exposed types that were handed to webhook.fanout; FannedOut and Outstanding say of how many the
	// fan-out has run and not run yet.
	Events, FannedOut, Outstanding int64
	// Matched is how many (endpoint, event) the fan-outs found; Fanout says what became of these.
	Matched int64
	Fanout  Outcomes
	// Unaccounted is Matched less all of Fanout. It is 0, or something was lost.
	Unaccounted int64
	// Replays and Tests are deliveries that fan-outs did not make.
	Replays, Tests Outcomes
}

// Outcomes counts deliveries by state. Reasons count by their beginning, up to the first ":" or ";".
type Outcomes struct {
	Delivered, Pending, Discarded, Skipped int64
	SkipReasons, DiscardReasons            map[string]int64
}

// total counts them all.
func (o Outcomes) total() int64 { return o.Delivered + o.Pending + o.Discarded + o.Skipped }

// Account balances what was fanned out against what became of it. The query is Account in
// internal/dbsqlc/webhooksql/account.sql.
func (s *Service) Account(ctx context.Context, f AccountFilter) (Account, error) {
	if f.Until.IsZero() {
		f.Until = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	row, err := queries(s.db()).Account(ctx, webhooksql.AccountParams{Since: f.Since, Until: f.Until, OwnerID: f.OwnerID})
	if err != nil {
		return Account{}, fmt.Errorf("account of webhooks: %w", err)
	}
	var groups []outcomeGroup
	if err := json.Unmarshal(row.Deliveries, &groups); err != nil {
		return Account{}, fmt.Errorf("account of webhooks: %w", err)
	}
	a := Account{Events: row.Events, FannedOut: row.FannedOut, Outstanding: row.Outstanding, Matched: row.Matched}
	for _, group := range groups {
		switch Origin(group.Origin) {
		case FromFanout:
			a.Fanout.add(group)
		case FromReplay:
			a.Replays.add(group)
		case FromTest:
			a.Tests.add(group)
		}
	}
	a.Unaccounted = a.Matched - a.Fanout.total()
	return a, nil
}

type outcomeGroup struct {
	Origin string
	State  DeliveryState
	Reason string
	N      int64
}

func (o *Outcomes) add(group outcomeGroup) {
	switch group.State {
	case Delivered:
		o.Delivered += group.N
	case Pending:
		o.Pending += group.N
	case Discarded:
		o.Discarded += group.N
		o.DiscardReasons = counted(o.DiscardReasons, group)
	case Skipped:
		o.Skipped += group.N
		o.SkipReasons = counted(o.SkipReasons, group)
	}
}

func counted(reasons map[string]int64, group outcomeGroup) map[string]int64 {
	if reasons == nil {
		reasons = map[string]int64{}
	}
	reasons[group.Reason] += group.N
	return reasons
}
