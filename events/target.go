package events

import (
	"context"
	"fmt"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/pg"
)

// readTargets reads who is told now. For the relay it must come after the claim, see SubscriptionsSeenWithin.
func readTargets(ctx context.Context, db pg.DBTX) ([]target, error) {
	rows, err := queries(db).SubscriptionsSeenWithin(ctx, eventsql.SubscriptionsSeenWithinParams{GraceSeconds: grace.Seconds()})
	if err != nil {
		return nil, fmt.Errorf("read subscriptions: %w", err)
	}
	targets := active(rows)
	var exposed map[string]bool
	for i := range targets {
		if targets[i].effect != Delivery {
			continue
		}
		if exposed == nil {
			if exposed, err = readExposed(ctx, db); err != nil {
				return nil, err
			}
		}
		targets[i].exposed = exposed
	}
	return targets, nil
}

func readExposed(ctx context.Context, db pg.DBTX) (map[string]bool, error) {
	names, err := queries(db).ExposedTypes(ctx)
	if err != nil {
		return nil, fmt.Errorf("read exposed event types: %w", err)
	}
	exposed := make(map[string]bool, len(names))
	for _, name := range names {
		exposed[name] = true
	}
	return exposed, nil
}

// active is what the relay fans out to, out of all that was seen within the grace: per name the union of the declarations
// that were seen together with its newest one. While two versions of an application run side by side both count; after
// both are gone the last ones seen do.
func active(rows []eventsql.SubscriptionsSeenWithinRow) []target {
	newest := map[string]time.Time{}
	for _, r := range rows {
		if r.SeenAt.After(newest[r.Name]) {
			newest[r.Name] = r.SeenAt
		}
	}
	var targets []target
	place := map[string]int{}
	for _, r := range rows { // by name, then by declared_at: the newest declaration comes last and settles queue and attempts
		if newest[r.Name].Sub(r.SeenAt) > together {
			continue
		}
		at, seen := place[r.Name]
		if !seen {
			at = len(targets)
			place[r.Name] = at
			targets = append(targets, target{name: r.Name, app: r.App, coalesce: true, batch: int(r.Batch), seen: newest[r.Name]})
		}
		t := &targets[at]
		t.types = append(t.types, r.Types...)
		t.coalesce = t.coalesce && r.Coalesces
		t.batch = min(t.batch, int(r.Batch)) // a version that knows no wide jobs must not get one
		if t.effect != Delivery {            // that one narrows: while any version declares it, internal types stay inside
			t.effect = Effect(r.Effect)
		}
		t.queue, t.maxAttempts = r.Queue, int(r.MaxAttempts)
	}
	return targets
}

// target is a subscription as the relay needs it.
type target struct {
	name, app   string
	types       []string
	exposed     map[string]bool // the types that may leave as webhooks; only with the effect Delivery
	coalesce    bool
	batch       int // how many events a wide job has at most; 0 or 1 where each has a job
	effect      Effect
	queue       string
	maxAttempts int
	seen        time.Time
	enqueues    bool // the relay itself, for postbus.enqueue
}

// wants says whether the target is told of events of the type. A Delivery target never is of an internal one, and nobody of what
// postbus.enqueue records.
func (t target) wants(typ string) bool {
	if typ == Enqueue {
		return t.enqueues
	}
	return anyGlobMatches(t.types, typ) && (t.effect != Delivery || t.exposed[typ])
}
