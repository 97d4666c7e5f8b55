package postbus

import (
	"context"
	"time"

	"github.com/postbus/postbus/internal/dbsqlc/eventsql"
	"github.com/postbus/postbus/internal/dbsqlc/measuresql"
	"github.com/postbus/postbus/internal/dbsqlc/webhooksql"
	"github.com/postbus/postbus/internal/measure"
	"github.com/postbus/postbus/jobs"
	"github.com/postbus/postbus/pg"
)

// gaugeCap is how far gauges count.
const gaugeCap = 10_000

func (b *Bus) newMeasures() (err error) {
	b.measures, err = measure.New(b.pool, measure.Config{
		Meter: b.cfg.Meter, Standing: b.standing, Deaf: b.listener.Deaf, Log: b.cfg.Log,
	})
	return err
}

// statsPeriodic removes old minutes, in one of the processes.
func (b *Bus) statsPeriodic() jobs.Periodic {
	return jobs.Periodic{Name: "stats.retention", Every: time.Hour, Run: b.measures.Prune, Timeout: 10 * time.Minute}
}

// standing reads what the gauges show.
func (b *Bus) standing(ctx context.Context) (s measure.Standing, err error) {
	s.Deliveries, s.Alerts = map[string]int64{}, map[string]int64{}
	if err := standingEvents(ctx, b.pool, &s); err != nil {
		return s, err
	}
	if err := standingDeliveries(ctx, b.pool, &s); err != nil {
		return s, err
	}
	overview, err := b.Inspector().Overview(ctx, "")
	if err != nil {
		return s, err
	}
	for kind, c := range overview.Kinds {
		for state, n := range map[jobs.State]jobs.Count{
			jobs.Pending: c.Pending, jobs.Running: c.Running, jobs.Retryable: c.Retryable, jobs.Discarded: c.Discarded,
		} {
			s.Jobs = append(s.Jobs, measure.JobsStanding{Kind: kind, State: string(state), N: min(n.N, gaugeCap)})
		}
	}
	alerts, err := b.Alerts(ctx)
	for _, alert := range alerts {
		s.Alerts[alert.Name] = alert.Count
	}
	return s, err
}

func standingEvents(ctx context.Context, db pg.DBTX, s *measure.Standing) error {
	backlog, err := eventsql.New(db).Backlog(ctx, eventsql.BacklogParams{Cap: gaugeCap})
	if err != nil {
		return err
	}
	s.Backlog, s.Lag = backlog.Events, time.Duration(backlog.OldestSeconds*float64(time.Second))
	s.Poisoned, err = eventsql.New(db).CountPoisoned(ctx, eventsql.CountPoisonedParams{Cap: gaugeCap})
	return err
}

func standingDeliveries(ctx context.Context, db pg.DBTX, s *measure.Standing) error {
	pending, err := measuresql.New(db).CountPendingDeliveries(ctx, measuresql.CountPendingDeliveriesParams{Cap: gaugeCap})
	if err != nil {
		return err
	}
	discarded, err := webhooksql.New(db).CountUnacknowledged(ctx, webhooksql.CountUnacknowledgedParams{Cap: gaugeCap})
	s.Deliveries["pending"], s.Deliveries["discarded"] = min(pending, gaugeCap), discarded
	return err
}
