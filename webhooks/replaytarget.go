package webhooks

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/events"
	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
	"github.com/postbus/postbus/jobs"
)

// ReplayKind is the kind of the jobs that walk replays to endpoints.
const ReplayKind = "webhook.replay"

// ReplayTarget takes the events of replays to endpoints. Give it to events.Bus.AddReplayTarget before the bus's Kinds are
// asked for.
func (s *Service) ReplayTarget() events.ReplayTarget { return replayTarget{s} }

type replayTarget struct{ s *Service }

func (replayTarget) Kind() events.ReplayKind { return events.ReplayEndpoint }

func (replayTarget) JobKind() string { return ReplayKind }

// Check refuses a replay to an endpoint that is not there, is disabled, or is another owner's.
func (t replayTarget) Check(ctx context.Context, tx pgx.Tx, spec events.ReplaySpec) error {
	if _, err := replayOptions(spec.Options); err != nil {
		return err
	}
	return t.s.With(tx).act(ctx, spec.Name, func(_ context.Context, _ pgx.Tx, at webhooksql.PostbusWebhookEndpoint) error {
		if spec.OwnerID != "" && spec.OwnerID != at.OwnerID {
			return fmt.Errorf("%w: owner_id is %q and endpoint %s is of owner %q: leave it out", ErrInvalid, spec.OwnerID, at.ID, at.OwnerID)
		}
		return enabled(at)
	})
}

// Batch hands over events that are held from retention. Where the endpoint was deleted or disabled meanwhile the replay ends.
func (t replayTarget) Batch(ctx context.Context, tx pgx.Tx, r events.Replay, batch []events.Event) (matched, queued int, err error) {
	options, err := replayOptions(r.Options)
	if err != nil {
		return 0, 0, jobs.Discard(err)
	}
	err = t.s.With(tx).act(ctx, r.Name, func(ctx context.Context, tx pgx.Tx, at webhooksql.PostbusWebhookEndpoint) error {
		if err := enabled(at); err != nil {
			return err
		}
		b := replayBatch{s: t.s, tx: tx, at: at}
		if batch, err = b.sendable(ctx, batch); err != nil {
			return err
		}
		if err := b.putBack(ctx, batch); err != nil {
			return err
		}
		if options.Mode == ModeReplay {
			err = b.add(ctx, batch)
		}
		matched, queued = b.matched, b.queued
		return err
	})
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrConflict) {
		err = jobs.Discard(err)
	}
	return matched, queued, err
}

// replayBatch is one batch on its way to an endpoint.
type replayBatch struct {
	s               *Service
	tx              pgx.Tx
	at              webhooksql.PostbusWebhookEndpoint
	matched, queued int
}

// sendable leaves out other owners' events and those of types that must not leave.
func (b *replayBatch) sendable(ctx context.Context, batch []events.Event) ([]events.Event, error) {
	names := make([]string, len(batch))
	for i, e := range batch {
		names[i] = e.Type
	}
	exposed, err := queries(b.tx).ExposedAmong(ctx, webhooksql.ExposedAmongParams{Names: names})
	if err != nil {
		return nil, err
	}
	is := map[string]bool{}
	for _, name := range exposed {
		is[name] = true
	}
	var out []events.Event
	for _, e := range batch {
		if is[e.Type] && e.OwnerID == b.at.OwnerID {
			out = append(out, e)
		}
	}
	return out, nil
}

// putBack makes what failed or was skipped pending again.
func (b *replayBatch) putBack(ctx context.Context, batch []events.Event) error {
	ids, err := queries(b.tx).RecoverableOf(ctx, webhooksql.RecoverableOfParams{EndpointID: b.at.ID, EventIds: idsOf(batch)})
	if err != nil || len(ids) == 0 {
		return err
	}
	n, err := b.s.putBack(ctx, b.tx, b.at, ids)
	b.matched, b.queued = b.matched+len(ids), b.queued+n
	return err
}

// add makes deliveries of events that have none, where the endpoint takes them.
func (b *replayBatch) add(ctx context.Context, batch []events.Event) error {
	fresh, err := queries(b.tx).UndeliveredAmong(ctx, webhooksql.UndeliveredAmongParams{EndpointID: b.at.ID, EventIds: idsOf(batch)})
	if err != nil || len(fresh) == 0 {
		return err
	}
	taken, err := b.takenOf(ctx, batch, fresh)
	if err != nil || len(taken) == 0 {
		return err
	}
	rows, err := queries(b.tx).InsertReplayed(ctx, webhooksql.InsertReplayedParams{
		EndpointID: b.at.ID, EventIds: taken, Ordered: b.at.Ordered, LifetimeSeconds: b.s.cfg.Lifetime.Seconds(),
	})
	if err != nil {
		return err
	}
	b.matched, b.queued = b.matched+len(taken), b.queued+len(rows)
	if b.at.Ordered {
		lines := make([]string, len(rows))
		for i, row := range rows {
			lines[i] = row.Subject
		}
		if err := b.s.lineUp(ctx, b.tx, b.at.ID, lines); err != nil {
			return err
		}
	}
	return b.s.admitDue(ctx, b.tx, b.at.ID)
}

func idsOf(batch []events.Event) []string {
	ids := make([]string, len(batch))
	for i, e := range batch {
		ids[i] = e.ID
	}
	return ids
}
