package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
	"github.com/postbus/postbus/internal/loop"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// poller opens lanes for deliveries that fall due: retries, ends of cooldowns, and whatever was missed.
type poller struct {
	s      *Service
	ticker loop.Ticker
}

const (
	pollEvery = time.Second
	// admitAtOnce is how many endpoints' lanes one transaction opens.
	admitAtOnce = 200
	// discardBatch is how many waiting deliveries of a dead endpoint one statement discards.
	discardBatch = 5000
	// slotIdle is how long a slot may rest before its job is looked at.
	slotIdle = time.Minute
)

func newPoller(s *Service) *poller {
	p := &poller{s: s}
	p.ticker.Name, p.ticker.Interval, p.ticker.Once, p.ticker.Log = "webhook poller", pollEvery, p.poll, s.cfg.Log
	return p
}

func (p *poller) start(ctx context.Context) { p.ticker.Start(ctx) }
func (p *poller) stop()                     { p.ticker.Stop() }

func (p *poller) poll(ctx context.Context) error {
	ids, err := queries(p.s.pool).DueEndpoints(ctx)
	if err != nil {
		return fmt.Errorf("look for due deliveries: %w", err)
	}
	for len(ids) > 0 {
		n := min(len(ids), admitAtOnce)
		if err := p.admit(ctx, ids[:n]); err != nil {
			return fmt.Errorf("open lanes: %w", err)
		}
		ids = ids[n:]
	}
	return p.bury(ctx)
}

func (p *poller) admit(ctx context.Context, ids []string) error {
	return pg.InShortTx(ctx, p.s.pool, func(ctx context.Context, tx pgx.Tx) error {
		if err := queries(tx).PlanOnce(ctx); err != nil {
			return err
		}
		rows, err := queries(tx).CountDue(ctx, webhooksql.CountDueParams{EndpointIds: ids})
		if err != nil {
			return err
		}
		due := make(map[string]int, len(rows))
		for _, row := range rows {
			due[row.EndpointID] = int(row.Due)
		}
		return p.s.admit(ctx, tx, due)
	})
}

// bury discards what waits at endpoints that are gone or disabled.
func (p *poller) bury(ctx context.Context) error {
	ids, err := queries(p.s.pool).DeadEndpoints(ctx)
	if err != nil {
		return fmt.Errorf("look for dead endpoints: %w", err)
	}
	for _, id := range ids {
		for n := int64(discardBatch); n == discardBatch; {
			n, err = queries(p.s.pool).DiscardDead(ctx, webhooksql.DiscardDeadParams{EndpointID: id, Most: discardBatch})
			if err != nil {
				return fmt.Errorf("discard deliveries of endpoint %s: %w", id, err)
			}
			p.s.cfg.Measures.DeliveriesGivenUp(n)
		}
	}
	return nil
}

// sweep frees slots whose job ended without closing them, because somebody cancelled it for instance. A lease that stands is
// left alone.
func (s *Service) sweep(ctx context.Context) error {
	q := queries(s.pool)
	slots, err := q.StaleSlots(ctx, webhooksql.StaleSlotsParams{IdleSeconds: slotIdle.Seconds()})
	if err != nil || len(slots) == 0 {
		return err
	}
	byJob := make(map[jobs.JobID]string, len(slots))
	var ids []jobs.JobID
	for _, slot := range slots {
		byJob[jobs.JobID(slot.JobID)] = slot.Token
		ids = append(ids, jobs.JobID(slot.JobID))
	}
	unfinished, err := s.jobs.Inspector().Unfinished(ctx, ids)
	if err != nil {
		return fmt.Errorf("look at the jobs of %d slots: %w", len(slots), err)
	}
	for _, id := range unfinished {
		delete(byJob, id)
	}
	var tokens []string
	for _, token := range byJob {
		tokens = append(tokens, token)
	}
	n, err := q.DropSlots(ctx, webhooksql.DropSlotsParams{Tokens: tokens})
	if n > 0 {
		s.cfg.Log.WarnContext(ctx, "freed webhook slots whose jobs have ended", "slots", n)
	}
	return err
}
